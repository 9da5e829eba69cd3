// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_step.hpp"

#include <algorithm>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/features.hpp"

namespace attest::openmp::linear::causal_step {

using attest::spec::linear::causal_step::In;
using attest::spec::linear::causal_step::Out;
using attest::spec::linear::causal_step::ZeroDenominator;

/// Columns of the state that one thread works on.
constexpr Index kTile = 64;

/// Calls tile(first, count) for the columns of S, which are independent, in parallel.
template <class T, class F>
void each_tile(const In<T>& in, F&& tile) {
  const Index c = in.S.extent(0), m = in.S.extent(1);
#pragma omp parallel for schedule(static) if (c * m > 65536)
  for (Index first = 0; first < m; first += kTile) tile(first, std::min(kTile, m - first));
}

template <class T>
Column<T> ratio(const In<T>& in, const Column<T>& numerator, T denominator) {
  denominator += static_cast<T>(in.eps);
  if (denominator == 0)  // C1
    return Column<T>::Constant(
        numerator.size(), in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0));
  return numerator / denominator;
}

/// Z first, since every column needs the denominator; then each tile of S is updated and read while it is in cache.
template <class T>
void update_then_read(const In<T>& in, const Out<T>& out) {
  const Column<T> q = features(in.features, in.phi_q), k = features(in.features, in.phi_k), v = vector(in.v);
  const Column<T> z = vector(in.Z) + k;
  vector(out.Z) = z;
  const T denominator = q.dot(z);
  each_tile(in, [&](Index first, Index count) {
    RowMajor<T> S = matrix(in.S).middleCols(first, count);
    S.noalias() += k * v.segment(first, count).transpose();
    const Column<T> numerator = S.transpose() * q;
    vector(out.o).segment(first, count) = ratio(in, numerator, denominator);
    matrix(out.S).middleCols(first, count) = S;
  });
}

/// The output comes from the old state and one dot product, so that it is ready before the state is written.
template <class T>
void read_then_correct(const In<T>& in, const Out<T>& out) {
  const Column<T> q = features(in.features, in.phi_q), k = features(in.features, in.phi_k), v = vector(in.v),
                  z = vector(in.Z);
  const T p = q.dot(k), denominator = q.dot(z) + p;
  each_tile(in, [&](Index first, Index count) {
    const RowMajor<T> S = matrix(in.S).middleCols(first, count);
    const Column<T> numerator = S.transpose() * q + p * v.segment(first, count);
    vector(out.o).segment(first, count) = ratio(in, numerator, denominator);
    matrix(out.S).middleCols(first, count) = S + k * v.segment(first, count).transpose();
  });
  vector(out.Z) = z + k;
}

template void update_then_read(const In<float>&, const Out<float>&);
template void update_then_read(const In<double>&, const Out<double>&);
template void read_then_correct(const In<float>&, const Out<float>&);
template void read_then_correct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_step
