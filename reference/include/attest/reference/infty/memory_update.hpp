// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/gaussian_basis.hpp"
#include "attest/reference/infty/ridge_fit.hpp"
#include "attest/spec/infty/memory_update.hpp"

namespace attest::reference::infty::memory_update {

using In = attest::spec::infty::memory_update::In<Number>;
using Out = attest::spec::infty::memory_update::Out<Number>;
using attest::spec::infty::memory_update::Grid;
using attest::spec::infty::memory_update::PastPoints;
using attest::spec::infty::memory_update::Refit;

/// i/n, or (i + 1)/n on the right grid.
template <class Side>
Number grid_point(Side side, Index i, Index n) {
  return rational(side == Side::right ? i + 1 : i, n);
}

/// How many samples of the past are fitted.
inline Index samples(const In& in) { return in.coefficients ? in.u.extent(0) : 0; }

/// u_j
inline Number past_point(const In& in, Index j) {
  return in.past_points == PastPoints::given ? in.u(j) : grid_point(in.past_points, j, in.u.extent(0));
}

/// Where row r of [samples; new tokens] is fitted.
inline Number position(const In& in, Index r) {
  const Index m = samples(in), l = in.x_new.extent(0);
  if (!in.coefficients) return grid_point(in.grid, r, l);
  if (in.refit == Refit::uniform) return grid_point(in.grid, r, m + l);
  const Number tau = parameter(in.tau);  // C1
  return r < m ? tau * grid_point(in.grid, r, m) : tau + (1 - tau) * grid_point(in.grid, r - m, l);
}

/// psi_k(f(0)) .. psi_k(f(n - 1)), a row per function.
template <class F>
Matrix basis(const In& in, Index n, F&& f) {
  Matrix psi(in.c.extent(0), n);
  for (Index r = 0; r < n; ++r) {
    const Number t = stage("positions", Number(f(r)));
    for (Index k = 0; k < psi.extent(0); ++k)
      psi(k, r) = stage("basis functions", gaussian_basis::basis_function(t, in.c(k), in.s(k), true));
  }
  return psi;
}

/// The functions where the past is sampled, and where all is fitted.
inline Matrix sampled_basis(const In& in) {
  return basis(in, samples(in), [&](Index j) { return past_point(in, j); });
}
inline Matrix fitted_basis(const In& in) {
  return basis(in, samples(in) + in.x_new.extent(0), [&](Index r) { return position(in, r); });
}

/// [coefficients psi; x_new]
inline Matrix joined(const In& in, const Matrix& psi) {
  const Index m = psi.extent(1), l = in.x_new.extent(0), d = in.x_new.extent(1);
  Matrix x(m + l, d);
  for (Index r = 0; r < m + l; ++r)
    for (Index a = 0; a < d; ++a)
      x(r, a) = r < m ? stage("samples", dot(in.coefficients[a], psi.column(r))) : in.x_new(r - m, a);
  return x;
}

inline void write_transposed(const Out& out, const Matrix& transposed) {
  for (const Index a : wanted(out.coefficients))
    for (Index k = 0; k < transposed.extent(0); ++k) out.coefficients(a, k) = transposed(k, a);
}

/// Sample, join, fit      [Martins et al. 2021, section 3.2]
inline void direct(const In& in, const Out& out) {
  write_transposed(out, ridge_fit::fitted(fitted_basis(in), parameter(in.penalty), joined(in, sampled_basis(in))));
}

inline void fit_operator(const In& in, const Out& out) {
  const Matrix g = ridge_fit::fitting_operator(fitted_basis(in), parameter(in.penalty));
  write_transposed(out, ridge_fit::product_of(g, joined(in, sampled_basis(in))));
}

/// coefficients' = coefficients p + x_new^T g_new with p = psi_u g_past, all but coefficients and x_new made once
inline void composed(const In& in, const Out& out) {
  const Matrix g = ridge_fit::fitting_operator(fitted_basis(in), parameter(in.penalty)), psi = sampled_basis(in);
  const auto columns = [&](Index first, Index count) { return View<const Number, 2>(g).columns(first, count); };
  const Index b = in.c.extent(0), m = samples(in), l = in.x_new.extent(0);
  const auto g_new = columns(m, l);
  Matrix p(b, b);
  if (m > 0) p = stage("map of the past", ridge_fit::product_of(psi, columns(0, m).transposed()));
  for (const Index a : wanted(out.coefficients))
    for (Index k = 0; k < b; ++k)
      out.coefficients(a, k) = in.coefficients ? dot(in.x_new.column(a), g_new[k], dot(in.coefficients[a], p.column(k)))
                                               : dot(in.x_new.column(a), g_new[k]);
}

}  // namespace attest::reference::infty::memory_update
