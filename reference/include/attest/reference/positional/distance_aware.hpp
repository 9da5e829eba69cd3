// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/positional/distance_aware.hpp"

namespace attest::reference::positional::distance_aware {

using In = attest::spec::positional::distance_aware::In<Number>;
using Out = attest::spec::positional::distance_aware::Out<Number>;

/// max(u, 0). The 0 is u - u, because a computed u is as uncertain on this side of the corner as on the other.
inline Number relu(const Number& u) { return larger(u, u - u); }

/// ln(1 + e^x), without an exponential that overflows
inline Number softplus(const Number& x) { return positive(x) ? x + log(1 + exp(-x)) : log(1 + exp(x)); }

/// R_ij = alpha |i - j|
inline Number weighted_distance(const In& in, Index i, Index j) {
  return stage("weighted distances", in.alpha() * stage("distances", Number(Index{std::abs(i - j)})));
}

/// Every form: the factors f(i, j), and logits logit(i, q_i . k row, f_i row) of all keys of a query.
template <class F, class L>
void attend(const In& in, const Out& out, F&& factor, L&& logits) {
  const Index s = in.k.extent(0);
  for (const Index i : wanted(out.o)) {
    const auto f = tabulate(s, [&](Index j) { return factor(i, j); });
    const auto factors = stage("distance factors", f);
    const auto products = stage("products", tabulate(s, [&](Index j) { return dot(in.q[i], in.k[j]); }));
    const auto l = stage("logits", tabulate(s, [&](Index j) { return logits(products, factors, j); }));
    const auto a = attention::softmax::shifted(l).first;
    assign(out.o[i], product(a, in.v));
    for (Index j = 0; out.f && j < s; ++j) out.f(i, j) = f(j);
  }
}

/// The same with logits scale max(q_i . k_j, 0) f_ij      [Wu et al. 2021, section 3.2]
template <class F>
void with_factor(const In& in, const Out& out, F&& factor) {
  const Number scale = attention::scaled_dot_product::scale_of(in);
  attend(in, out, factor, [&](const Vector& products, const Vector& f, Index j) {
    return stage("scaled products", scale * relu(products(j))) * f(j);
  });
}

inline Number largest_factor(const In& in) { return stage("largest factor", 1 + exp(in.beta())); }

/// (1 + e^beta) / (1 + e^(beta - R))
inline void direct(const In& in, const Out& out) {
  const Number largest = largest_factor(in);
  with_factor(in, out, [&](Index i, Index j) {
    return largest / (1 + exp(stage("factor exponents", in.beta() - weighted_distance(in, i, j))));
  });
}

/// (1 + e^beta) sigma(R - beta)
inline void logistic(const In& in, const Out& out) {
  const Number largest = largest_factor(in);
  with_factor(in, out, [&](Index i, Index j) {
    return largest * sigmoid(stage("factor exponents", weighted_distance(in, i, j) - in.beta()));
  });
}

/// f_ij = e^(softplus(beta) - softplus(beta - R_ij)), which neither overflows nor divides.
inline Number stable_factor(const In& in, const Number& softplus_beta, const Number& R) {
  return exp(stage("factor exponents", softplus_beta - stage("softplus", softplus(in.beta() - R))));
}

inline void softplus(const In& in, const Out& out) {
  const Number s_beta = stage("softplus", softplus(in.beta()));
  with_factor(in, out, [&](Index i, Index j) { return stable_factor(in, s_beta, weighted_distance(in, i, j)); });
}

/// scale max(q_i . k_j f_ij, 0)
inline void relu_after(const In& in, const Out& out) {
  const Number s_beta = stage("softplus", softplus(in.beta())), scale = attention::scaled_dot_product::scale_of(in);
  attend(
      in, out, [&](Index i, Index j) { return stable_factor(in, s_beta, weighted_distance(in, i, j)); },
      [&](const Vector& products, const Vector& f, Index j) {
        return scale * relu(stage("rescaled products", products(j) * f(j)));
      });
}

}  // namespace attest::reference::positional::distance_aware
