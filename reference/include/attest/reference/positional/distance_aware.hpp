// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/positional/distance_aware.hpp"

namespace attest::reference::positional::distance_aware {

using attest::spec::positional::distance_aware::In;
using attest::spec::positional::distance_aware::Out;

/// max(u, 0). The 0 is u - u, because a computed u is as uncertain on this side of the corner as on the other.
template <class T>
T relu(const T& u) {
  return positive(u) ? u : T(u - u);
}

/// ln(1 + e^x), without an exponential that overflows
template <class T>
T softplus(const T& x) {
  return positive(x) ? T(x + log(T(1) + exp(-x))) : T(log(T(1) + exp(x)));
}

/// R_ij = alpha |i - j|
template <class T>
T weighted_distance(const In<T>& in, Index i, Index j) {
  return in.alpha() * T(Index{std::abs(i - j)});
}

/// Every form: the factors f(i, j), and logits logit(i, q_i . k row, f_i row) of all keys of a query.
template <class T, class F, class L>
void attend(const In<T>& in, const Out<T>& out, F&& factor, L&& logits) {
  const Index s = in.k.extent(0);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto f = tabulate(s, [&](Index j) { return T(factor(i, j)); });
    const auto products = tabulate(s, [&](Index j) { return dot<T>(in.q[i], in.k[j]); });
    const auto a = attention::softmax::shifted(tabulate(s, [&](Index j) { return T(logits(products, f, j)); })).first;
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(a, in.v.column(c));
    for (Index j = 0; out.f && j < s; ++j) out.f(i, j) = f(j);
  }
}

/// The same with logits scale max(q_i . k_j, 0) f_ij      [Wu et al. 2021, section 3.2]
template <class T, class F>
void with_factor(const In<T>& in, const Out<T>& out, F&& factor) {
  const T scale = attention::scaled_dot_product::scale_of<T>(in);
  attend(in, out, factor,
         [&](const Vector<T>& products, const Vector<T>& f, Index j) { return scale * relu(products(j)) * f(j); });
}

/// (1 + e^beta) / (1 + e^(beta - R))
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const T largest = T(1) + exp(in.beta());
  with_factor(in, out,
              [&](Index i, Index j) { return largest / (T(1) + exp(in.beta() - weighted_distance(in, i, j))); });
}

/// (1 + e^beta) sigma(R - beta)
template <class T>
void logistic(const In<T>& in, const Out<T>& out) {
  const T largest = T(1) + exp(in.beta());
  with_factor(in, out, [&](Index i, Index j) { return largest * sigmoid(T(weighted_distance(in, i, j) - in.beta())); });
}

/// f_ij = e^(softplus(beta) - softplus(beta - R_ij)), which neither overflows nor divides.
template <class T>
T stable_factor(const In<T>& in, const T& softplus_beta, const T& R) {
  return exp(softplus_beta - softplus(T(in.beta() - R)));
}

template <class T>
void softplus(const In<T>& in, const Out<T>& out) {
  const T s_beta = softplus(T(in.beta()));
  with_factor(in, out, [&](Index i, Index j) { return stable_factor(in, s_beta, weighted_distance(in, i, j)); });
}

/// scale max(q_i . k_j f_ij, 0)
template <class T>
void relu_after(const In<T>& in, const Out<T>& out) {
  const T s_beta = softplus(T(in.beta())), scale = attention::scaled_dot_product::scale_of<T>(in);
  attend(
      in, out, [&](Index i, Index j) { return stable_factor(in, s_beta, weighted_distance(in, i, j)); },
      [&](const Vector<T>& products, const Vector<T>& f, Index j) { return scale * relu(T(products(j) * f(j))); });
}

}  // namespace attest::reference::positional::distance_aware
