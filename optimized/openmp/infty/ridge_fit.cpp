// SPDX-License-Identifier: MIT
#include "attest/spec/infty/ridge_fit.hpp"

#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::ridge_fit {

using attest::spec::infty::ridge_fit::In;
using attest::spec::infty::ridge_fit::Out;

template <class T>
T penalty(const In<T>& in) {
  return static_cast<T>(in.penalty);
}

/// Both outputs from the transposed coefficients.
template <class T>
void write(const In<T>& in, const Out<T>& out, const RowMajor<T>& transposed) {
  matrix(out.coefficients) = transposed.transpose();
  if (out.x_fit) matrix(out.x_fit) = matrix(in.psi).transpose() * transposed;
}

template <class T>
void primal_cholesky(const In<T>& in, const Out<T>& out) {
  const auto psi = matrix(in.psi);
  write<T>(in, out, ridge_solution<T>(psi, penalty(in), psi * matrix(in.x)));
}

/// As many unknowns as tokens.
template <class T>
void dual(const In<T>& in, const Out<T>& out) {
  const auto psi = matrix(in.psi);
  const RowMajor<T> residuals = ridge_solution<T>(psi.transpose(), penalty(in), matrix(in.x));
  write<T>(in, out, psi * residuals);
}

/// The operator depends on the positions alone: a caller with one grid keeps it.
template <class T>
void fit_operator(const In<T>& in, const Out<T>& out) {
  const auto psi = matrix(in.psi);
  const RowMajor<T> g = ridge_solution<T>(psi, penalty(in), psi);
  write<T>(in, out, g * matrix(in.x));
}

/// Householder reflections of [sqrt(lambda) I; psi^T]: no product psi psi^T, whose condition is the square. The rows of
/// the penalty come first: below rows that are much larger, small functions lose nothing.
template <class T>
void augmented_qr(const In<T>& in, const Out<T>& out) {
  const Index b = in.psi.extent(0), l = in.psi.extent(1), d = in.x.extent(1);
  RowMajor<T> a(l + b, b), x = RowMajor<T>::Zero(l + b, d);
  a.topRows(b) = std::sqrt(penalty(in)) * RowMajor<T>::Identity(b, b);
  a.bottomRows(l) = matrix(in.psi).transpose();
  x.bottomRows(l) = matrix(in.x);
  write<T>(in, out, least_squares(a, x));
}

template <class T>
void svd(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> points = matrix(in.psi).transpose();
  const auto [u, v, s] = singular_values(points);
  const Column<T> filter = s.array() / (s.array().square() + penalty(in));
  const RowMajor<T> projections = u.transpose() * matrix(in.x);
  write<T>(in, out, v * (filter.asDiagonal() * projections));
}

template void primal_cholesky(const In<float>&, const Out<float>&);
template void primal_cholesky(const In<double>&, const Out<double>&);
template void dual(const In<float>&, const Out<float>&);
template void dual(const In<double>&, const Out<double>&);
template void fit_operator(const In<float>&, const Out<float>&);
template void fit_operator(const In<double>&, const Out<double>&);
template void augmented_qr(const In<float>&, const Out<float>&);
template void augmented_qr(const In<double>&, const Out<double>&);
template void svd(const In<float>&, const Out<float>&);
template void svd(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::ridge_fit
