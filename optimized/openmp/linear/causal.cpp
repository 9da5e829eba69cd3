// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/features.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::linear::causal {

using attest::spec::linear::causal::In;
using attest::spec::linear::causal::Out;
using attest::spec::linear::causal::ZeroDenominator;

/// The tensors side by side in memory. The values get a column of ones, whose output is the denominator, so that
/// numerator and denominator are one matrix product and S and Z one state.
template <class T>
struct Tokens {
  RowMajor<T> q, k, v;

  explicit Tokens(const In<T>& in)
      : q(features(in.features, in.phi_q)), k(features(in.features, in.phi_k)), v(in.v.extent(0), in.v.extent(1) + 1) {
    v.leftCols(in.v.extent(1)) = matrix(in.v);
    v.col(in.v.extent(1)).setOnes();
  }
};

/// [S | Z], zero where nothing was carried over.
template <class T>
RowMajor<T> carried(const In<T>& in) {
  const Index c = in.phi_k.extent(1), m = in.v.extent(1);
  RowMajor<T> state = RowMajor<T>::Zero(c, m + 1);
  if (in.S) state.leftCols(m) = matrix(in.S);
  if (in.Z) state.col(m) = vector(in.Z);
  return state;
}

template <class T>
void store(const RowMajor<T>& state, const Out<T>& out) {
  if (out.S) matrix(out.S) = state.leftCols(state.cols() - 1);
  if (out.Z) vector(out.Z) = state.col(state.cols() - 1);
}

/// Rows of o from rows [numerator | denominator], starting at token `first`.
template <class T>
void divide(const In<T>& in, const RowMajor<T>& rows, Index first, const Out<T>& out) {
  const Index m = in.v.extent(1);
  for (Index i = 0; i < rows.rows(); ++i) {
    const T d = rows(i, m) + static_cast<T>(in.eps);
    auto o = vector(out.o[first + i]);
    if (d == 0)
      o.setConstant(in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0));  // C2
    else
      o = rows.row(i).head(m).transpose() / d;
  }
}

/// [numerator | denominator] of tokens first .. first + count - 1, which see `before` and the tokens since `start`.
template <class T>
RowMajor<T> attend(const Tokens<T>& x, const RowMajor<T>& before, Index start, Index first, Index count) {
  const Index seen = first + count - start;
  RowMajor<T> P = x.q.middleRows(first, count) * x.k.middleRows(start, seen).transpose();
  P.rightCols(count).template triangularView<Eigen::StrictlyUpper>().setZero();
  RowMajor<T> rows = x.q.middleRows(first, count) * before;
  rows.noalias() += P * x.v.middleRows(start, seen);
  return rows;
}

/// All pairs of tokens, a tile of queries at a time: quadratic work, but every tile is independent.
template <class T>
void parallel_masked(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const RowMajor<T> before = carried(in);
  each_tile(in.v.extent(0),
            [&](Index first, Index count) { divide(in, attend(x, before, 0, first, count), first, out); });
  if (!out.S && !out.Z) return;
  RowMajor<T> state = before;
  each_tile(state.rows(), [&](Index first, Index count) {
    state.middleRows(first, count).noalias() += x.k.middleCols(first, count).transpose() * x.v;
  });
  store(state, out);
}

/// Token by token. The columns of the state are independent: each thread walks through all tokens with its
/// own columns, and the last of them are the denominators.
template <class T>
void recurrent(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), width = x.v.cols();
  RowMajor<T> state = carried(in), rows(n, width);
  each_tile(width, [&](Index first, Index count) {
    RowMajor<T> mine = state.middleCols(first, count);
    for (Index i = 0; i < n; ++i) {
      mine.noalias() += x.k.row(i).transpose() * x.v.row(i).segment(first, count);
      rows.row(i).segment(first, count).noalias() = x.q.row(i) * mine;
    }
    state.middleCols(first, count) = mine;
  });
  divide(in, rows, 0, out);
  store(state, out);
}

/// Chunk after chunk in matrix products. Nothing is parallel here: a chunk waits for the state of the one before, and
/// the threads are for the other heads. A single long head wants two_level.
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), chunk = std::max<Index>(std::min(in.chunk, n), 1);  // C1
  RowMajor<T> state = carried(in);
  for (Index first = 0; first < n; first += chunk) {
    const Index count = std::min(chunk, n - first);
    divide(in, attend(x, state, first, first, count), first, out);
    state.noalias() += x.k.middleRows(first, count).transpose() * x.v.middleRows(first, count);
  }
  store(state, out);
}

/// Inclusive prefix sums of the rows of x over a balanced tree: up to the root, then down to the places between. A sum
/// of n terms passes through 2 log2 n additions instead of n, and all additions of one level are independent.
template <class T>
void prefix_sums(RowMajor<T>& x) {
  const Index n = x.rows();
  Index reach = 1;
  for (; 2 * reach <= n; reach *= 2)
    for (Index t = 2 * reach - 1; t < n; t += 2 * reach) x.row(t) += x.row(t - reach);
  for (reach /= 2; reach >= 1; reach /= 2)
    for (Index t = 3 * reach - 1; t < n; t += 2 * reach) x.row(t) += x.row(t - reach);
}

/// Every prefix of every state at once, for one column of values at a time: n states of c numbers fit in memory where
/// n states of c times m would not. The columns are parallel.
template <class T>
void scan(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), width = x.v.cols();
  RowMajor<T> state = carried(in), rows(n, width);
#pragma omp parallel for schedule(static)
  for (Index b = 0; b < width; ++b) {
    RowMajor<T> sums(n + 1, state.rows());
    sums.row(0) = state.col(b).transpose();
    sums.bottomRows(n) = x.v.col(b).asDiagonal() * x.k;
    prefix_sums(sums);
    rows.col(b) = x.q.cwiseProduct(sums.bottomRows(n)).rowwise().sum();
    state.col(b) = sums.row(n).transpose();
  }
  divide(in, rows, 0, out);
  store(state, out);
}

/// Totals of all chunks in parallel, their running sum, then all chunks in parallel, each with the state before it.
template <class T>
void two_level(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), chunk = std::max<Index>(std::min(in.chunk, n), 1);  // C1
  const Index chunks = (n + chunk - 1) / chunk;
  std::vector<RowMajor<T>> before(static_cast<std::size_t>(chunks + 1));
  before[0] = carried(in);
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < chunks; ++t) {
    const Index first = t * chunk, count = std::min(chunk, n - first);
    before[static_cast<std::size_t>(t + 1)].noalias() =
        x.k.middleRows(first, count).transpose() * x.v.middleRows(first, count);
  }
  for (std::size_t t = 1; t < before.size(); ++t) before[t] += before[t - 1];
#pragma omp parallel for schedule(static)
  for (Index t = 0; t < chunks; ++t) {
    const Index first = t * chunk, count = std::min(chunk, n - first);
    divide(in, attend(x, before[static_cast<std::size_t>(t)], first, first, count), first, out);
  }
  store(before.back(), out);
}

template void parallel_masked(const In<float>&, const Out<float>&);
template void parallel_masked(const In<double>&, const Out<double>&);
template void recurrent(const In<float>&, const Out<float>&);
template void recurrent(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);
template void scan(const In<float>&, const Out<float>&);
template void scan(const In<double>&, const Out<double>&);
template void two_level(const In<float>&, const Out<float>&);
template void two_level(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal
