// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdlib>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/positional/alibi.hpp"

namespace attest::reference::positional::alibi {

namespace plain = attention::scaled_dot_product;
using attest::spec::positional::alibi::In;
using attest::spec::positional::alibi::Out;

/// 2^(-8 (h + 1) / heads), without rounding where that is a power of two.
template <class T>
T power_slope(Index h, Index heads) {
  const Index eighths = 8 * (h + 1);
  if (eighths % heads == 0) return T(std::ldexp(1.0, -static_cast<int>(eighths / heads)));
  return exp(-(T(eighths) / T(heads)) * log(T(2)));
}

/// a_h: those of the largest power of two c <= heads, then every second one of 2c heads      [the authors' get_slopes]
template <class T>
T formula_slope(Index h, Index heads) {
  Index c = 1;
  while (2 * c <= heads) c *= 2;
  return h < c ? power_slope<T>(h, c) : power_slope<T>(2 * (h - c), 2 * c);
}

template <class T>
T slope(const In<T>& in, Index h) {
  return in.slopes ? T(in.slopes(h)) : formula_slope<T>(h, in.q.extent(0));
}

/// How far query i stands behind key 0.
template <class T>
Index position(const In<T>& in, Index i) {
  return i + in.k.extent(1) - in.q.extent(1) + in.query_offset;
}

template <class T>
bool visible(const In<T>& in, Index i, Index j) {
  return in.symmetric || j <= position(in, i);
}

/// One head as plain attention without bias.
template <class T>
plain::In<T> head(const In<T>& in, Index h) {
  plain::In<T> one;
  one.q = in.q[h], one.k = in.k[h], one.v = in.v[h], one.scale = in.scale;
  return one;
}

/// Attention whose logits are logit(h, i, j, scale q_i . k_j) over the keys with sees(i, j).
template <class T, class S, class F>
void attend(const In<T>& in, const Out<T>& out, S&& sees, F&& logit) {
  for (Index h = 0; h < in.q.extent(0); ++h) {
    const auto one = head(in, h);
    const T scale = plain::scale_of<T>(one);
    for (Index i = 0; i < in.q.extent(1); ++i) {
      std::vector<Index> keys;
      for (Index j = 0; j < in.k.extent(1); ++j)
        if (sees(i, j)) keys.push_back(j);
      const auto products = plain::logits(one, scale, i, keys);
      const auto l = tabulate(products.extent(),
                              [&](Index t) { return T(logit(h, i, keys[static_cast<std::size_t>(t)], products(t))); });
      const auto a = attention::softmax::shifted(l).first;  // C1
      const plain::Rows<T> v(one.v, keys);
      for (Index c = 0; c < in.v.extent(2); ++c) out.o(h, i, c) = dot<T>(a, v.column(c));
    }
  }
}

/// The same with bias(h, i, j) added to the scaled products of the visible keys.
template <class T, class F>
void with_bias(const In<T>& in, const Out<T>& out, F&& bias) {
  attend(
      in, out, [&](Index i, Index j) { return visible(in, i, j); },
      [&](Index h, Index i, Index j, const T& product) { return product + bias(h, i, j); });
}

/// -a_h |position of the query - position of the key|      [Press et al. 2022, section 3]
template <class T>
T penalty(const In<T>& in, Index h, Index i, Index j) {
  return -(slope(in, h) * T(Index{std::abs(position(in, i) - j)}));
}

template <class T>
void distance(const In<T>& in, const Out<T>& out) {
  with_bias(in, out, [&](Index h, Index i, Index j) { return penalty(in, h, i, j); });
}

/// a_h j: what is left of -a_h (position of the query - j) when the part without j is dropped from the softmax.
template <class T>
void key_index(const In<T>& in, const Out<T>& out) {
  with_bias(in, out, [&](Index h, Index, Index j) { return slope(in, h) * T(j); });
}

/// The whole matrix of biases, -inf where a key is invisible, handed to plain attention.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(1), s = in.k.extent(1);
  for (Index h = 0; h < in.q.extent(0); ++h) {
    Matrix<T> bias(n, s);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < s; ++j)
        bias(i, j) = visible(in, i, j) ? penalty(in, h, i, j) : T(-attention::softmax::kInfinity);
    auto one = head(in, h);
    one.bias = std::as_const(bias).view();
    plain::max_shift(one, {.o = out.o[h]});
  }
}

}  // namespace attest::reference::positional::alibi
