// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_chunked.hpp"

#include <algorithm>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/features.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::linear::causal_chunked {

using attest::spec::linear::causal_chunked::In;
using attest::spec::linear::causal_chunked::Out;
using attest::spec::linear::causal_chunked::ZeroDenominator;

/// o_i = numerator_i / (denominator_i + eps)
template <class T, class Numerator, class Denominator>
void divide(const In<T>& in, const Numerator& numerator, const Denominator& denominator, View<T, 2> o) {
  for (Index i = 0; i < o.extent(0); ++i) {
    const T d = denominator(i) + static_cast<T>(in.eps);
    if (d == 0)  // C1
      vector(o[i]).setConstant(in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN()
                                                                           : T(0));
    else
      vector(o[i]) = numerator.row(i).transpose() / d;
  }
}

/// Rows first .. first + count - 1 of tril(q k^T), over the keys that any of them sees.
template <class T>
RowMajor<T> masked_scores(const RowMajor<T>& q, const RowMajor<T>& k, Index first, Index count) {
  RowMajor<T> P = q.middleRows(first, count) * k.topRows(first + count).transpose();
  P.rightCols(count).template triangularView<Eigen::StrictlyUpper>().setZero();
  return P;
}

/// Tiles of queries against the old state and against the keys up to themselves; then the new state.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = features(in.features, in.phi_q), k = features(in.features, in.phi_k), v = openmp::matrix(in.v);
  const RowMajor<T> S = openmp::matrix(in.S);
  const Column<T> z = vector(in.Z);
  each_tile(in.v.extent(0), [&](Index first, Index count) {
    const RowMajor<T> P = masked_scores(q, k, first, count);
    RowMajor<T> numerator = P * v.topRows(first + count);
    numerator.noalias() += q.middleRows(first, count) * S;
    const Column<T> denominator = P.rowwise().sum() + q.middleRows(first, count) * z;
    divide(in, numerator, denominator, out.o.rows(first, count));
  });
  each_tile(in.S.extent(0), [&](Index first, Index count) {
    openmp::matrix(out.S).middleRows(first, count) =
        S.middleRows(first, count) + k.middleCols(first, count).transpose() * v;
  });
  vector(out.Z) = z + k.colwise().sum().transpose();
}

/// Token by token. The columns of the state are independent, so each thread walks through all tokens with
/// its own columns; only Z is shared.
template <class T>
void steps(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = features(in.features, in.phi_q), k = features(in.features, in.phi_k);
  const Index n = in.v.extent(0), m = in.v.extent(1);
  Column<T> z = vector(in.Z), denominator(n);
  for (Index i = 0; i < n; ++i) {
    z += k.row(i).transpose();
    denominator(i) = q.row(i).dot(z);
  }
  vector(out.Z) = z;
  each_tile(m, [&](Index first, Index count) {
    RowMajor<T> S = openmp::matrix(in.S).middleCols(first, count), numerator(n, count);
    const RowMajor<T> v = openmp::matrix(in.v).middleCols(first, count);
    for (Index i = 0; i < n; ++i) {
      S.noalias() += k.row(i).transpose() * v.row(i);
      numerator.row(i).noalias() = q.row(i) * S;
    }
    const View<T, 2> columns(out.o.data() + first * out.o.stride(1), {n, count}, {out.o.stride(0), out.o.stride(1)});
    divide(in, numerator, denominator, columns);
    openmp::matrix(out.S).middleCols(first, count) = S;
  });
}

/// With a column of ones beside the values, the denominator is one more column of the same products.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  const Index n = in.v.extent(0), m = in.v.extent(1), c = in.S.extent(0);
  const RowMajor<T> q = features(in.features, in.phi_q), k = features(in.features, in.phi_k);
  RowMajor<T> v(n, m + 1), state(c, m + 1);
  v.leftCols(m) = openmp::matrix(in.v);
  v.col(m).setOnes();
  state.leftCols(m) = openmp::matrix(in.S);
  state.col(m) = vector(in.Z);
  each_tile(n, [&](Index first, Index count) {
    RowMajor<T> w = q.middleRows(first, count) * state;
    w.noalias() += masked_scores(q, k, first, count) * v.topRows(first + count);
    divide(in, w.leftCols(m), w.col(m), out.o.rows(first, count));
  });
  each_tile(c, [&](Index first, Index count) {
    const RowMajor<T> next = state.middleRows(first, count) + k.middleCols(first, count).transpose() * v;
    openmp::matrix(out.S).middleRows(first, count) = next.leftCols(m);
    vector(out.Z).segment(first, count) = next.col(m);
  });
}

template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void steps(const In<float>&, const Out<float>&);
template void steps(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_chunked
