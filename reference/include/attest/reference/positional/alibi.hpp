// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdlib>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/positional/alibi.hpp"

namespace attest::reference::positional::alibi {

namespace plain = attention::scaled_dot_product;
using In = attest::spec::positional::alibi::In<Number>;
using Out = attest::spec::positional::alibi::Out<Number>;

/// 2^(-8 (h + 1) / heads), without rounding where that is a power of two.
inline Number power_slope(Index h, Index heads) {
  const Index eighths = 8 * (h + 1);
  if (eighths % heads == 0) return rational(1, Index{1} << (eighths / heads));
  return exp(-(Number(eighths) / Number(heads)) * log(Number(2)));
}

/// a_h: those of the largest power of two c <= heads, then every second one of 2c heads      [the authors' get_slopes]
inline Number formula_slope(Index h, Index heads) {
  Index c = 1;
  while (2 * c <= heads) c *= 2;
  return h < c ? power_slope(h, c) : power_slope(2 * (h - c), 2 * c);
}

inline Number slope(const In& in, Index h) {
  return in.slopes ? in.slopes(h) : stage("slopes", formula_slope(h, in.q.extent(0)));
}

/// How far query i stands behind key 0.
inline Index position(const In& in, Index i) { return i + in.k.extent(1) - in.q.extent(1) + in.query_offset; }

inline bool visible(const In& in, Index i, Index j) { return in.symmetric || j <= position(in, i); }

/// One head as plain attention without bias.
inline plain::In head(const In& in, Index h) {
  plain::In one;
  one.q = in.q[h], one.k = in.k[h], one.v = in.v[h], one.scale = in.scale;
  return one;
}

/// Attention whose logits are logit(h, i, j, scale q_i . k_j) over the keys with sees(i, j).
template <class S, class F>
void attend(const In& in, const Out& out, S&& sees, F&& logit) {
  for (const Index h : wanted(out.o)) {
    const auto one = head(in, h);
    const Number scale = plain::scale_of(one);
    for (Index i = 0; i < in.q.extent(1); ++i) {
      std::vector<Index> keys;
      for (Index j = 0; j < in.k.extent(1); ++j)
        if (sees(i, j)) keys.push_back(j);
      const auto products = stage("products", plain::products(one.q[i], one.k, keys));
      const auto l = stage("logits", tabulate(products.extent(), [&](Index t) {
                             const Number scaled = stage("scaled products", scale * products(t));
                             return logit(h, i, keys[static_cast<std::size_t>(t)], scaled);
                           }));
      const auto a = attention::softmax::shifted(l).first;  // C1
      const plain::Rows v(one.v, keys);
      assign(out.o[h][i], product(a, v));
    }
  }
}

/// The same with bias(h, i, j) added to the scaled products of the visible keys.
template <class F>
void with_bias(const In& in, const Out& out, F&& bias) {
  attend(
      in, out, [&](Index i, Index j) { return visible(in, i, j); },
      [&](Index h, Index i, Index j, const Number& product) { return product + stage("biases", bias(h, i, j)); });
}

/// -a_h |position of the query - position of the key|      [Press et al. 2022, section 3]
inline Number penalty(const In& in, Index h, Index i, Index j) {
  return -(slope(in, h) * stage("distances", Number(Index{std::abs(position(in, i) - j)})));
}

inline void distance(const In& in, const Out& out) {
  with_bias(in, out, [&](Index h, Index i, Index j) { return penalty(in, h, i, j); });
}

/// a_h j: what is left of -a_h (position of the query - j) when the part without j is dropped from the softmax.
inline void key_index(const In& in, const Out& out) {
  with_bias(in, out, [&](Index h, Index, Index j) { return slope(in, h) * stage("positions", Number(j)); });
}

/// The whole matrix of biases, -inf where a key is invisible, handed to plain attention.
inline void matrix(const In& in, const Out& out) {
  const Index n = in.q.extent(1), s = in.k.extent(1);
  for (const Index h : wanted(out.o)) {
    Matrix bias(n, s);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < s; ++j)
        bias(i, j) = visible(in, i, j) ? stage("biases", penalty(in, h, i, j)) : Number(-attention::softmax::kInfinity);
    auto one = head(in, h);
    one.bias = std::as_const(bias).view();
    plain::max_shift(one, {.o = out.o[h]});
  }
}

}  // namespace attest::reference::positional::alibi
