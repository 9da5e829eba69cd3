// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/recur.hpp"
#include "attest/openmp/tiles.hpp"

/// Random features of some rows, shared by the kernels that attend with them.
namespace attest::openmp::lowrank {

/// [sin | cos] of the angles of some rows, over the root of the number of directions.
template <class T>
RowMajor<T> waves(const RowMajor<T>& angles) {
  const T factor = 1 / std::sqrt(static_cast<T>(angles.cols()));
  RowMajor<T> phi(angles.rows(), 2 * angles.cols());
  phi.leftCols(angles.cols()) = angles.array().sin() * factor;
  phi.rightCols(angles.cols()) = angles.array().cos() * factor;
  return phi;
}

/// w . x - |x|^2 / 2 for some rows x and all directions; behind them -w . x - |x|^2 / 2 if hyperbolic.
template <class T>
RowMajor<T> exponents(const RowMajor<T>& x, const RowMajor<T>& w, bool hyperbolic) {
  const Index c = w.rows();
  const Column<T> half_norms = x.rowwise().squaredNorm() / 2;
  const RowMajor<T> products = x * w.transpose();
  RowMajor<T> y(x.rows(), hyperbolic ? 2 * c : c);
  y.leftCols(c) = products.colwise() - half_norms;
  if (hyperbolic) y.rightCols(c) = (-products).colwise() - half_norms;
  return y;
}

/// Linear attention on features of queries and keys, which outlive it.
template <class T, class I, class O>
engine::Recurrence<T> attention(const I& in, const O& out, const RowMajor<T>& q, const RowMajor<T>& k) {
  engine::Recurrence<T> recurrence{.q = view(q), .k = view(k), .v = in.v, .o = out.o};
  if constexpr (requires { in.zero_denominator; }) {
    if (in.zero_denominator == decltype(in.zero_denominator)::nan)
      recurrence.undefined = std::numeric_limits<T>::quiet_NaN();
  }
  return recurrence;
}

}  // namespace attest::openmp::lowrank
