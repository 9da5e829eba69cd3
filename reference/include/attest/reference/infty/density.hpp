// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/infty/density.hpp"

namespace attest::reference::infty::density {

using In = attest::spec::infty::density::In<Number>;
using Out = attest::spec::infty::density::Out<Number>;

/// ln(1 + e^x), the exponential of -|x|
inline Number softplus(const Number& x) { return positive(x) ? x + log1p(exp(-x)) : log1p(exp(x)); }

/// x, or x + bias where there is one; x is a sum over basis functions and tokens.
inline Number biased(const In& in, const View<const Number, 0>& bias, const Number& x) {
  return bias ? reference::biased(x, bias(), in.k_b.extent(0) + in.psi.extent(1)) : x;
}

/// kappa k_b q
inline Vector scores(const Number& kappa, const View<const Number, 2>& k_b, const Row& q) {
  const auto products = stage("products", product(k_b, q));
  return stage("scores", tabulate(k_b.extent(0), [&](Index k) { return kappa * products(k); }));
}

/// mu_i and sigma2_i from mean(u_i, i) and variance(u_i, i), what sigmoid and softplus are taken of.
template <class Mean, class Variance>
void each_query(const In& in, const Out& out, Mean&& mean, Variance&& variance) {
  const Number kappa = parameter(in.kappa), least = parameter(in.min_sigma2);
  for (const Index i : wanted(out.mu)) {
    const auto u = scores(kappa, in.k_b, in.q[i]);
    out.mu(i) = sigmoid(stage("mean logits", biased(in, in.b_mu, mean(u))));
    out.sigma2(i) = larger(least, softplus(stage("variance logits", biased(in, in.b_sigma, variance(u)))));
  }
}

/// w + psi v
inline Vector basis_weights(const In& in, const Row& w, const Row& v) {
  return tabulate(w.extent(0), [&](Index k) { return v.extent(0) > 0 ? dot(in.psi[k], v, w(k)) : w(k); });
}

/// mu_i = sigma(w_mu . u_i + b_mu), sigma2_i = softplus(w_sigma . u_i + b_sigma)      [Martins et al. 2021, eq. 6, 7]
inline void basis_space(const In& in, const Out& out) {
  const auto w_mu = stage("weights of the mean", basis_weights(in, in.w_mu, in.v_mu)),
             w_sigma = stage("weights of the variance", basis_weights(in, in.w_sigma, in.v_sigma));
  each_query(in, out, [&](const Vector& u) { return dot(w_mu, u); }, [&](const Vector& u) { return dot(w_sigma, u); });
}

/// w . u + v . (psi^T u), where psi^T u are the scores of the keys that the tokens have
inline void token_space(const In& in, const Out& out) {
  const auto logit = [&](const Vector& u, const Row& w, const Row& v) {
    const Number of_functions = dot(w, u);
    if (v.extent(0) == 0) return of_functions;
    return dot(stage("scores of tokens", product(u, in.psi)), v, of_functions);
  };
  each_query(
      in, out, [&](const Vector& u) { return logit(u, in.w_mu, in.v_mu); },
      [&](const Vector& u) { return logit(u, in.w_sigma, in.v_sigma); });
}

}  // namespace attest::reference::infty::density
