// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/distance_aware.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::distance_aware {

namespace right = attest::reference::positional::distance_aware;
using reference::attention::scaled_dot_product::scale_of;
using right::In;
using right::Out;

/// The equation with another R.
template <class T, class F>
void with_distance(const In<T>& in, const Out<T>& out, F&& distance) {
  const T s_beta = right::softplus(T(in.beta()));
  right::with_factor(in, out, [&](Index i, Index j) {
    return right::stable_factor(in, s_beta, T(in.alpha() * T(Index{distance(i, j)})));
  });
}

/// The equation with other logits from the row of products and the row of factors.
template <class T, class L>
void with_logits(const In<T>& in, const Out<T>& out, L&& logits) {
  const T s_beta = right::softplus(T(in.beta()));
  right::attend(
      in, out, [&](Index i, Index j) { return right::stable_factor(in, s_beta, right::weighted_distance(in, i, j)); },
      logits);
}

template <class T>
void relu_missing(const In<T>& in, const Out<T>& out) {
  const T scale = scale_of<T>(in);
  with_logits(in, out,
              [&](const Vector<T>& products, const Vector<T>& f, Index j) { return scale * products(j) * f(j); });
}

template <class T>
void signed_distance(const In<T>& in, const Out<T>& out) {
  with_distance(in, out, [](Index i, Index j) { return i - j; });
}

template <class T>
void beta_sign(const In<T>& in, const Out<T>& out) {
  const T minus = -in.beta(), s = right::softplus(minus);
  right::with_factor(in, out, [&](Index i, Index j) {
    return exp(s - right::softplus(T(minus - right::weighted_distance(in, i, j))));
  });
}

template <class T>
void normaliser_missing(const In<T>& in, const Out<T>& out) {
  right::with_factor(in, out,
                     [&](Index i, Index j) { return sigmoid(T(right::weighted_distance(in, i, j) - in.beta())); });
}

template <class T>
void additive(const In<T>& in, const Out<T>& out) {
  const T scale = scale_of<T>(in);
  with_logits(in, out, [&](const Vector<T>& products, const Vector<T>& f, Index j) {
    return scale * (right::relu(products(j)) + f(j));
  });
}

template <class T>
void negative_masked(const In<T>& in, const Out<T>& out) {
  right::softplus(in, out);  // f, and rows where every key is visible or none
  namespace plain = reference::attention::scaled_dot_product;
  const T s_beta = right::softplus(T(in.beta())), scale = scale_of<T>(in);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    std::vector<Index> keys;
    for (Index j = 0; j < in.k.extent(0); ++j)
      if (positive(dot<T>(in.q[i], in.k[j]))) keys.push_back(j);
    if (keys.empty()) continue;
    const auto l = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index j = keys[static_cast<std::size_t>(t)];
      return T(scale * dot<T>(in.q[i], in.k[j]) * right::stable_factor(in, s_beta, right::weighted_distance(in, i, j)));
    });
    const auto a = reference::attention::softmax::shifted(l).first;
    const plain::Rows<T> v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(a, v.column(c));
  }
}

template <class T>
void matrix_product(const In<T>& in, const Out<T>& out) {
  const T scale = scale_of<T>(in), s_beta = right::softplus(T(in.beta()));
  const Index s = in.k.extent(0);
  with_logits(in, out, [&](const Vector<T>& products, const Vector<T>&, Index j) {
    return scale * sum(s, [&](Index r) {
             return right::relu(products(r)) * right::stable_factor(in, s_beta, right::weighted_distance(in, r, j));
           });
  });
}

template <class T>
void distance_ignored(const In<T>& in, const Out<T>& out) {
  with_distance(in, out, [](Index, Index) { return 0; });
}

template <class T>
void distance_from_the_end(const In<T>& in, const Out<T>& out) {
  with_distance(in, out, [&](Index i, Index j) { return std::abs(i + in.k.extent(0) - in.q.extent(0) - j); });
}

/// The equation with another scale.
template <class T>
void with_scale(const In<T>& in, const Out<T>& out, const T& scale) {
  with_logits(in, out, [&](const Vector<T>& products, const Vector<T>& f, Index j) {
    return scale * right::relu(products(j)) * f(j);
  });
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  with_scale(in, out, in.scale ? T(*in.scale) : T(1));
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  with_scale(in, out, T(T(1) / sqrt(T(in.q.extent(1)))));
}

template <class T>
void exponentials_overflow(const In<T>& in, const Out<T>& out) {
  right::direct(in, out);
}

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_scale(in, out, T(scale_of<T>(in) * (T(1) + c)));
}

}  // namespace attest::faults::positional::distance_aware
