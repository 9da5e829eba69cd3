// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/reference/infty/density.hpp"
#include "attest/reference/infty/expectation.hpp"
#include "attest/spec/infty/attention.hpp"

namespace attest::reference::infty::attention {

using In = attest::spec::infty::attention::In<Number>;
using Out = attest::spec::infty::attention::Out<Number>;
using attest::spec::infty::attention::Domain;
using expectation::Normal;

/// coefficients^T w: a row per basis function.
inline Matrix of_functions(const In& in, const View<const Number, 2>& w) {
  Matrix rows(in.coefficients.extent(1), w.extent(1));
  for (Index k = 0; k < rows.extent(0); ++k) {
    const auto row = product(in.coefficients.column(k), w);
    for (Index a = 0; a < w.extent(1); ++a) rows(k, a) = row(a);
  }
  return rows;
}

/// The density of each wanted query.
inline std::vector<Normal> densities(const In& in, const Out& out) {
  const Matrix k_b = stage("keys", of_functions(in, in.w_k));
  const Index n = in.q.extent(0);
  Vector mu(n), sigma2(n);
  const auto writable = [&](Vector& x) { return View<Number, 1>(&x(0), {n}).asking(out.z.asked()); };
  if (n > 0)
    density::basis_space({.q = in.q,
                          .k_b = k_b,
                          .w_mu = in.w_mu,
                          .w_sigma = in.w_sigma,
                          .b_mu = in.b_mu,
                          .b_sigma = in.b_sigma,
                          .psi = {},
                          .v_mu = {},
                          .v_sigma = {},
                          .kappa = in.kappa,
                          .min_sigma2 = in.min_sigma2},
                         {.mu = writable(mu), .sigma2 = writable(sigma2)});
  std::vector<Normal> all(static_cast<std::size_t>(n));
  for (const Index i : wanted(out.z))
    all[static_cast<std::size_t>(i)] = {stage("means", mu(i)), stage("variances", sigma2(i))};
  return all;
}

/// E[psi_k(t)] of every function, t from that density.
inline Vector expectations(const In& in, const Normal& t) {
  return stage("expectations", tabulate(in.c.extent(0), [&](Index k) {
                 return expectation::expected(t.mean, t.variance, in.c(k), in.s(k), in.domain, in.normalised);
               }));
}

/// z_i = answer(density of query i)
template <class F>
void each_query(const In& in, const Out& out, F&& answer) {
  const auto all = densities(in, out);
  for (const Index i : wanted(out.z)) assign(out.z[i], answer(all[static_cast<std::size_t>(i)]));
}

/// z_i = E[x(t)]^T w_v      [Martins et al. 2021, eq. 9]
inline void basis(const In& in, const Out& out) {
  each_query(in, out, [&](const Normal& t) {
    return product(stage("expected signal", product(in.coefficients, expectations(in, t))), in.w_v);
  });
}

/// z_i = r_i^T (coefficients^T w_v)
inline void fused(const In& in, const Out& out) {
  const Matrix values = stage("values", of_functions(in, in.w_v));
  each_query(in, out, [&](const Normal& t) { return product(expectations(in, t), values); });
}

/// z_i = sum_j h N(t_j; mu_i, sigma2_i) x(t_j)^T w_v: steps h of a quarter of the narrowest product's deviation, over
/// 25 deviations of the widest beyond all means of products, as in expectation::trapezoidal.
inline void discretised(const In& in, const Out& out) {
  const Index b = in.c.extent(0);
  each_query(in, out, [&](const Normal& t) {
    double narrowest = std::numeric_limits<double>::infinity(), widest = 0, farthest = 0;
    Number step;
    for (Index k = 0; k < b; ++k) {
      const Normal both = expectation::product_of(t, {in.c(k), in.s(k) * in.s(k)});
      const Number deviation = sqrt(both.variance);
      if (approximate(deviation) < narrowest) narrowest = approximate(deviation), step = deviation / 4;
      widest = std::max(widest, approximate(deviation));
      farthest = std::max(farthest, std::abs(approximate(both.mean - t.mean)));
    }
    const auto side = static_cast<Index>(std::ceil((farthest + 25 * widest) / narrowest * 4));
    const auto grid = tabulate(2 * side + 1, [&](Index j) { return t.mean + (j - side) * step; });
    const auto weights = tabulate(grid.extent(), [&](Index j) { return step * expectation::density(grid(j), t); });
    Matrix signal(grid.extent(), in.coefficients.extent(0));
    for (Index j = 0; j < grid.extent(); ++j) {
      const auto psi = tabulate(
          b, [&](Index k) { return gaussian_basis::basis_function(grid(j), in.c(k), in.s(k), in.normalised); });
      const auto x = product(in.coefficients, psi);
      for (Index a = 0; a < x.extent(); ++a) signal(j, a) = x(a);
    }
    return product(product(weights, signal), in.w_v);
  });
}

}  // namespace attest::reference::infty::attention
