// SPDX-License-Identifier: MIT
#include "attest/spec/linear/attention.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/features.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::linear::attention {

using attest::spec::linear::attention::Features;
using attest::spec::linear::attention::In;
using attest::spec::linear::attention::Out;
using attest::spec::linear::attention::ZeroDenominator;

/// The tensors side by side in memory, hidden keys left out.
template <class T>
struct Tokens {
  RowMajor<T> q, k, v;

  explicit Tokens(const In<T>& in)
      : q(features(in.features, in.phi_q)),
        k(in.phi_k.extent(0), in.phi_k.extent(1)),
        v(in.v.extent(0), in.v.extent(1)) {
    Index seen = 0;
    for (Index j = 0; j < in.v.extent(0); ++j) {
      if (in.mask && !in.mask(j)) continue;
      k.row(seen) = vector(in.phi_k[j]).transpose();
      v.row(seen++) = vector(in.v[j]).transpose();
    }
    k.conservativeResize(seen, Eigen::NoChange);
    map_features<Features, T>(in.features, k);
    v.conservativeResize(seen, Eigen::NoChange);
  }
};

/// Rows first, first + 1 .. of o from their numerators and denominators.
template <class T, class Numerators, class Denominators>
void divide(const In<T>& in, const Numerators& numerator, const Denominators& denominator, Index first,
            const Out<T>& out) {
  for (Index i = 0; i < numerator.rows(); ++i) {
    const T d = denominator(i) + static_cast<T>(in.eps);
    auto o = vector(out.o[first + i]);
    if (d == 0)
      o.setConstant(in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0));  // C2
    else
      o = numerator.row(i).transpose() / d;
  }
}

/// All pairs, a tile of queries at a time; the weights of a tile are all that is ever stored.
template <class T>
void quadratic(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  each_tile(x.q.rows(), [&](Index first, Index count) {
    const RowMajor<T> w = x.q.middleRows(first, count) * x.k.transpose();
    const RowMajor<T> numerator = w * x.v;
    const Column<T> denominator = w.rowwise().sum();
    divide(in, numerator, denominator, first, out);
  });
}

/// phi_q T over phi_q z. The features' rows of T and the queries are independent.
template <class T>
void associative(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  RowMajor<T> state(x.k.cols(), x.v.cols());
  each_tile(state.rows(), [&](Index first, Index count) {
    state.middleRows(first, count).noalias() = x.k.middleCols(first, count).transpose() * x.v;
  });
  const Column<T> z = x.k.colwise().sum().transpose();
  each_tile(x.q.rows(), [&](Index first, Index count) {
    const RowMajor<T> numerator = x.q.middleRows(first, count) * state;
    const Column<T> denominator = x.q.middleRows(first, count) * z;
    divide(in, numerator, denominator, first, out);
  });
}

/// phi_q [T | z]: the last column divides the others.
template <class T>
void read(const In<T>& in, const Tokens<T>& x, const RowMajor<T>& state, const Out<T>& out) {
  const Index m = x.v.cols();
  each_tile(x.q.rows(), [&](Index first, Index count) {
    const RowMajor<T> rows = x.q.middleRows(first, count) * state;
    divide(in, rows.leftCols(m), rows.col(m), first, out);
  });
}

/// [v | 1]
template <class T>
RowMajor<T> with_ones(const RowMajor<T>& v) {
  RowMajor<T> wide(v.rows(), v.cols() + 1);
  wide.leftCols(v.cols()) = v;
  wide.col(v.cols()).setOnes();
  return wide;
}

/// The values get a column of ones, whose output is the denominator: one product makes T and z, one reads them.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const RowMajor<T> v = with_ones(x.v);
  RowMajor<T> state(x.k.cols(), v.cols());
  each_tile(state.rows(), [&](Index first, Index count) {
    state.middleRows(first, count).noalias() = x.k.middleCols(first, count).transpose() * v;
  });
  read(in, x, state, out);
}

/// One partial state per shard, in parallel, then their sum in order, so that the number of threads changes no bit.
template <class T>
void sharded(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const RowMajor<T> v = with_ones(x.v);
  const Index s = v.rows(), shard = std::max<Index>(std::min(in.shard, s), 1), shards = (s + shard - 1) / shard;  // C1
  std::vector<RowMajor<T>> part(static_cast<std::size_t>(shards));
#pragma omp parallel for schedule(static) if (s > kTile)
  for (Index t = 0; t < shards; ++t) {
    const Index first = t * shard, count = std::min(shard, s - first);
    part[static_cast<std::size_t>(t)].noalias() = x.k.middleRows(first, count).transpose() * v.middleRows(first, count);
  }
  RowMajor<T> state = RowMajor<T>::Zero(x.k.cols(), v.cols());
  for (const auto& p : part) state += p;
  read(in, x, state, out);
}

template void quadratic(const In<float>&, const Out<float>&);
template void quadratic(const In<double>&, const Out<double>&);
template void associative(const In<float>&, const Out<float>&);
template void associative(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);
template void sharded(const In<float>&, const Out<float>&);
template void sharded(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::attention
