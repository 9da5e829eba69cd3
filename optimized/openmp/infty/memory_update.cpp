// SPDX-License-Identifier: MIT
#include "attest/spec/infty/memory_update.hpp"

#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::memory_update {

using attest::spec::infty::memory_update::Grid;
using attest::spec::infty::memory_update::In;
using attest::spec::infty::memory_update::Out;
using attest::spec::infty::memory_update::PastPoints;
using attest::spec::infty::memory_update::Refit;

template <class T>
Index samples(const In<T>& in) {
  return in.coefficients ? in.u.extent(0) : 0;
}

/// The functions at position(0) .. position(n - 1), a row per function: exponents, then a pass of exponentials.
template <class T, class F>
RowMajor<T> basis(const In<T>& in, Index n, F&& position) {
  RowMajor<T> psi(in.c.extent(0), n);
  for (Index k = 0; k < psi.rows(); ++k)
    for (Index r = 0; r < n; ++r) {
      const T z = (position(r) - in.c(k)) / in.s(k);
      psi(k, r) = -z * z / 2;
    }
  engine::map(engine::Feature::exp, psi.data(), psi.size());
  for (Index k = 0; k < psi.rows(); ++k) psi.row(k) *= kInverseRootOfTwoPi<T> / in.s(k);
  return psi;
}

/// Where the past is sampled.
template <class T>
RowMajor<T> sampled_basis(const In<T>& in) {
  const Index m = samples(in);
  return basis(in, m, [&](Index j) {
    return in.past_points == PastPoints::given
               ? in.u(j)
               : static_cast<T>(in.past_points == PastPoints::right ? j + 1 : j) / static_cast<T>(m);
  });
}

/// Where samples and new tokens are fitted.
template <class T>
RowMajor<T> fitted_basis(const In<T>& in) {
  const Index m = samples(in), l = in.x_new.extent(0), from = in.grid == Grid::right ? 1 : 0;
  const T tau = static_cast<T>(in.tau);
  const auto grid = [&](Index i, Index n) { return static_cast<T>(i + from) / static_cast<T>(n); };
  return basis(in, m + l, [&](Index r) {
    if (!in.coefficients || in.refit == Refit::uniform) return grid(r, m + l);
    return r < m ? tau * grid(r, m) : tau + (1 - tau) * grid(r - m, l);
  });
}

/// [samples of the past; new tokens]
template <class T>
RowMajor<T> joined(const In<T>& in) {
  const Index m = samples(in), l = in.x_new.extent(0);
  RowMajor<T> x(m + l, in.x_new.extent(1));
  if (m > 0) x.topRows(m) = (matrix(in.coefficients) * sampled_basis(in)).transpose();
  x.bottomRows(l) = matrix(in.x_new);
  return x;
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> psi = fitted_basis(in);
  const RowMajor<T> projections = psi * joined(in);
  matrix(out.coefficients) = ridge_solution<T>(psi, static_cast<T>(in.penalty), projections).transpose();
}

/// (psi psi^T + lambda I)^-1 psi, which depends on positions alone.
template <class T>
RowMajor<T> operator_of(const In<T>& in) {
  const RowMajor<T> psi = fitted_basis(in);
  return ridge_solution<T>(psi, static_cast<T>(in.penalty), psi);
}

template <class T>
void fit_operator(const In<T>& in, const Out<T>& out) {
  matrix(out.coefficients) = (operator_of(in) * joined(in)).transpose();
}

/// The samples are never made: the past goes through one matrix of all functions.
template <class T>
void composed(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> g = operator_of(in);
  const Index m = samples(in);
  RowMajor<T> updated = matrix(in.x_new).transpose() * g.rightCols(in.x_new.extent(0)).transpose();
  if (m > 0) {
    const RowMajor<T> past = sampled_basis(in) * g.leftCols(m).transpose();
    updated += matrix(in.coefficients) * past;
  }
  matrix(out.coefficients) = updated;
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void fit_operator(const In<float>&, const Out<float>&);
template void fit_operator(const In<double>&, const Out<double>&);
template void composed(const In<float>&, const Out<float>&);
template void composed(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::memory_update
