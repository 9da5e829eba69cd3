// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/distance_aware.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::distance_aware {

namespace right = attest::reference::positional::distance_aware;
using reference::attention::scaled_dot_product::scale_of;
using right::In;
using right::Out;

/// The equation with another R.
template <class F>
void with_distance(const In& in, const Out& out, F&& distance) {
  const Number s_beta = right::softplus(in.beta());
  right::with_factor(in, out, [&](Index i, Index j) {
    return right::stable_factor(in, s_beta, in.alpha() * Number(Index{distance(i, j)}));
  });
}

/// The equation with other logits from the row of products and the row of factors.
template <class L>
void with_logits(const In& in, const Out& out, L&& logits) {
  const Number s_beta = right::softplus(in.beta());
  right::attend(
      in, out, [&](Index i, Index j) { return right::stable_factor(in, s_beta, right::weighted_distance(in, i, j)); },
      logits);
}

inline void relu_missing(const In& in, const Out& out) {
  const Number scale = scale_of(in);
  with_logits(in, out, [&](const Vector& products, const Vector& f, Index j) { return scale * products(j) * f(j); });
}

inline void signed_distance(const In& in, const Out& out) {
  with_distance(in, out, [](Index i, Index j) { return i - j; });
}

inline void beta_sign(const In& in, const Out& out) {
  const Number minus = -in.beta(), s = right::softplus(minus);
  right::with_factor(
      in, out, [&](Index i, Index j) { return exp(s - right::softplus(minus - right::weighted_distance(in, i, j))); });
}

inline void normaliser_missing(const In& in, const Out& out) {
  right::with_factor(in, out,
                     [&](Index i, Index j) { return sigmoid(right::weighted_distance(in, i, j) - in.beta()); });
}

inline void additive(const In& in, const Out& out) {
  const Number scale = scale_of(in);
  with_logits(in, out, [&](const Vector& products, const Vector& f, Index j) {
    return scale * (right::relu(products(j)) + f(j));
  });
}

inline void negative_masked(const In& in, const Out& out) {
  right::softplus(in, out);  // f, and rows where every key is visible or none
  namespace plain = reference::attention::scaled_dot_product;
  const Number s_beta = right::softplus(in.beta()), scale = scale_of(in);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    std::vector<Index> keys;
    for (Index j = 0; j < in.k.extent(0); ++j)
      if (positive(dot(in.q[i], in.k[j]))) keys.push_back(j);
    if (keys.empty()) continue;
    const auto l = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index j = keys[static_cast<std::size_t>(t)];
      return scale * dot(in.q[i], in.k[j]) * right::stable_factor(in, s_beta, right::weighted_distance(in, i, j));
    });
    const auto a = reference::attention::softmax::shifted(l).first;
    const plain::Rows v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot(a, v.column(c));
  }
}

inline void matrix_product(const In& in, const Out& out) {
  const Number scale = scale_of(in), s_beta = right::softplus(in.beta());
  const Index s = in.k.extent(0);
  with_logits(in, out, [&](const Vector& products, const Vector&, Index j) {
    return scale * sum(s, [&](Index r) {
             return right::relu(products(r)) * right::stable_factor(in, s_beta, right::weighted_distance(in, r, j));
           });
  });
}

inline void distance_ignored(const In& in, const Out& out) {
  with_distance(in, out, [](Index, Index) { return 0; });
}

inline void distance_from_the_end(const In& in, const Out& out) {
  with_distance(in, out, [&](Index i, Index j) { return std::abs(i + in.k.extent(0) - in.q.extent(0) - j); });
}

/// The equation with another scale.
inline void with_scale(const In& in, const Out& out, const Number& scale) {
  with_logits(in, out, [&](const Vector& products, const Vector& f, Index j) {
    return scale * right::relu(products(j)) * f(j);
  });
}

inline void scale_missing(const In& in, const Out& out) {
  with_scale(in, out, in.scale ? parameter(*in.scale) : Number(1));
}

inline void scale_ignored(const In& in, const Out& out) { with_scale(in, out, 1 / sqrt(Number(in.q.extent(1)))); }

inline void exponentials_overflow(const In& in, const Out& out) { right::direct(in, out); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_scale(in, out, scale_of(in) * (Number(1) + c));
}

}  // namespace attest::faults::positional::distance_aware
