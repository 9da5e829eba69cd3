// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/density.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::density {

namespace right = attest::reference::infty::density;
using right::In;
using right::Out;
using right::softplus;

/// The equation with mu = f(mean logit) and sigma2 = g(variance logit).
template <class F, class G>
void with_maps(const In& in, const Out& out, F&& f, G&& g) {
  const auto w_mu = right::basis_weights(in, in.w_mu, in.v_mu),
             w_sigma = right::basis_weights(in, in.w_sigma, in.v_sigma);
  const Number kappa = parameter(in.kappa);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto u = right::scores(kappa, in.k_b, in.q[i]);
    out.mu(i) = f(right::biased(in, in.b_mu, dot(w_mu, u)));
    out.sigma2(i) = g(right::biased(in, in.b_sigma, dot(w_sigma, u)));
  }
}
template <class F>
void with_mean(const In& in, const Out& out, F&& f) {
  with_maps(in, out, f, [&](const Number& x) { return larger(parameter(in.min_sigma2), softplus(x)); });
}
/// With another map in place of softplus.
template <class G>
void with_variance(const In& in, const Out& out, G&& g) {
  with_maps(
      in, out, [](const Number& x) { return sigmoid(x); },
      [&](const Number& x) { return larger(parameter(in.min_sigma2), g(x)); });
}

inline void sigma_is_sigmoid(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return sigmoid(x); });
}
inline void sigma_not_squared(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return softplus(x) * softplus(x); });
}
inline void exp_for_softplus(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return exp(x); });
}
inline void relu_for_softplus(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return positive(x) ? x : Number(0); });
}
inline void softplus_overflow(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return log(1 + exp(x)); });
}
inline void softplus_without_log1p(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return positive(x) ? x + log(1 + exp(-x)) : log(1 + exp(x)); });
}
inline void softplus_linear_beyond_20(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return less(20, x) ? x : softplus(x); });
}
inline void clamped_unasked(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& x) { return larger(rational(1, 10000), softplus(x)); });
}
inline void min_sigma2_ignored(In in, const Out& out) {
  in.min_sigma2 = 0;
  right::basis_space(in, out);
}
inline void min_sigma2_added(const In& in, const Out& out) {
  with_variance(in, out, [&](const Number& x) { return softplus(x) + parameter(in.min_sigma2); });
}
inline void mean_unbounded(const In& in, const Out& out) {
  with_mean(in, out, [](const Number& x) { return x; });
}
inline void mean_by_tanh(const In& in, const Out& out) {
  with_mean(in, out, [](const Number& x) { return sigmoid(2 * x); });
}

inline void kappa_missing(In in, const Out& out) {
  in.kappa = 1;
  right::basis_space(in, out);
}
/// The equation with keys times a factor.
inline void with_factor(In in, const Out& out, const Number& factor) {
  const auto k_b =
      matrix_of(in.k_b.extent(0), in.k_b.extent(1), [&](Index k, Index a) { return factor * in.k_b(k, a); });
  in.k_b = read_only(k_b);
  right::basis_space(in, out);
}
inline void kappa_by_width(const In& in, const Out& out) { with_factor(in, out, 1 / sqrt(Number(in.q.extent(1)))); }
inline void logit_drift(const In& in, const Out& out, const Number& c) { with_factor(in, out, 1 + c); }

inline void weights_swapped(In in, const Out& out) {
  std::swap(in.w_mu, in.w_sigma);
  std::swap(in.v_mu, in.v_sigma);
  right::basis_space(in, out);
}
inline void biases_missing(In in, const Out& out) {
  in.b_mu = {}, in.b_sigma = {};
  right::basis_space(in, out);
}
inline void biases_scaled(In in, const Out& out) {
  const Number kappa = parameter(in.kappa);
  const Number b_mu = in.b_mu ? kappa * in.b_mu() : Number(0), b_sigma = in.b_sigma ? kappa * in.b_sigma() : Number(0);
  in.b_mu = {&b_mu, {}}, in.b_sigma = {&b_sigma, {}};
  right::basis_space(in, out);
}
inline void token_weights_ignored(In in, const Out& out) {
  in.psi = {}, in.v_mu = {}, in.v_sigma = {};
  right::basis_space(in, out);
}

/// psi^T (psi psi^T + 1)^-1 psi q, where there is a query for each token.
inline void query_from_reconstruction(In in, const Out& out) {
  const auto [n, d] = in.q.extents();
  if (in.psi.extent(1) != n) return right::basis_space(in, out);
  const auto gram = matrix_of(in.psi.extent(0), in.psi.extent(0),
                              [&](Index k, Index j) { return dot(in.psi[k], in.psi[j], Number(k == j ? 1 : 0)); });
  const auto fitted =
      solve(gram, matrix_of(in.psi.extent(0), d, [&](Index k, Index a) { return dot(in.psi[k], in.q.column(a)); }));
  const auto q = matrix_of(n, d, [&](Index i, Index a) { return dot(in.psi.column(i), fitted.column(a)); });
  in.q = read_only(q);
  right::basis_space(in, out);
}

inline void last_function_dropped(In in, const Out& out) {
  const Index b = in.k_b.extent(0);
  const auto k_b =
      matrix_of(b, in.k_b.extent(1), [&](Index k, Index a) { return k + 1 < b || b == 1 ? in.k_b(k, a) : Number(0); });
  in.k_b = read_only(k_b);
  right::basis_space(in, out);
}

}  // namespace attest::faults::infty::density
