// SPDX-License-Identifier: MIT
#include "attest/spec/positional/shaw_relative.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attest/openmp/attention.hpp"

namespace attest::openmp::positional::shaw_relative {

using attest::spec::positional::shaw_relative::In;
using attest::spec::positional::shaw_relative::Out;

/// How far key j lies ahead of query i, clipped and counted from the first row of the tables.
template <class T>
class Distance {
public:
  explicit Distance(const In<T>& in)
      : last_(in.p_k.extent(0) - 1), origin_(last_ / 2 - (in.offset ? *in.offset : in.k.extent(0) - in.q.extent(0))) {}
  Index row(Index i, Index j) const { return std::max<Index>(0, std::min<Index>(last_, j - i + origin_)); }

private:
  Index last_, origin_;
};

/// Every form: `scores(i, keys)`, not scaled yet, and `values(i, keys, weights)`. Queries are shared among the threads.
template <class T, class S, class V>
void each_query(const In<T>& in, const Out<T>& out, S&& scores, V&& values) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const T scale = attention::scale_of<T>(in);
#pragma omp parallel for schedule(static) if (n * s > 256)
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> keys;
    for (Index j = 0; j < s; ++j)
      if (!in.mask || in.mask(i, j)) keys.push_back(j);
    auto o = vector(out.o[i]);
    if (keys.empty()) {  // C2
      o.setZero();
      continue;
    }
    Column<T> a = scale * scores(i, keys);
    a = (a.array() - a.maxCoeff()).exp();
    a /= a.sum();
    o = values(i, keys, a);
  }
}

/// The rows of a table that belong to these keys.
template <class T>
RowMajor<T> looked_up(View<const T, 2> table, const Distance<T>& distance, Index i, const std::vector<Index>& keys) {
  RowMajor<T> rows(static_cast<Index>(keys.size()), table.extent(1));
  for (std::size_t t = 0; t < keys.size(); ++t)
    rows.row(static_cast<Index>(t)) = vector(table[distance.row(i, keys[t])]).transpose();
  return rows;
}

/// Values with their positions, weighted.
template <class T>
auto placed_values(const In<T>& in, const Distance<T>& distance) {
  return [&](Index i, const std::vector<Index>& keys, const Column<T>& a) -> Column<T> {
    return (attention::rows_of(in.v, keys) + looked_up(in.p_v, distance, i, keys)).transpose() * a;
  };
}

template <class T>
void pairwise(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  each_query(
      in, out,
      [&](Index i, const std::vector<Index>& keys) -> Column<T> {
        return (attention::rows_of(in.k, keys) + looked_up(in.p_k, distance, i, keys)) * vector(in.q[i]);
      },
      placed_values(in, distance));
}

/// q k^T of the visible keys plus `position(i, j)`.
template <class T, class P>
auto with_position(const In<T>& in, P&& position) {
  return [&in, position](Index i, const std::vector<Index>& keys) -> Column<T> {
    Column<T> l = attention::rows_of(in.k, keys) * vector(in.q[i]);
    for (std::size_t t = 0; t < keys.size(); ++t) l(static_cast<Index>(t)) += position(i, keys[t]);
    return l;
  };
}

template <class T>
void split_logits(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  const RowMajor<T> by_row = matrix(in.q) * matrix(in.p_k).transpose();
  each_query(in, out, with_position(in, [&](Index i, Index j) { return by_row(i, distance.row(i, j)); }),
             placed_values(in, distance));
}

/// Weights are added up per row of the table, so that p_v is multiplied by 2c + 1 numbers instead of s.
template <class T>
void bucketed_values(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  const RowMajor<T> by_row = matrix(in.q) * matrix(in.p_k).transpose();
  each_query(in, out, with_position(in, [&](Index i, Index j) { return by_row(i, distance.row(i, j)); }),
             [&](Index i, const std::vector<Index>& keys, const Column<T>& a) -> Column<T> {
               Column<T> share = Column<T>::Zero(in.p_v.extent(0));
               for (std::size_t t = 0; t < keys.size(); ++t)
                 share(distance.row(i, keys[t])) += a(static_cast<Index>(t));
               return attention::rows_of(in.v, keys).transpose() * a + matrix(in.p_v).transpose() * share;
             });
}

/// One product with the table unrolled over all n + s - 1 distances; row i of it, read from column n - 1 - i on, is in
/// order of keys.
template <class T>
void skew(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  const Index n = in.q.extent(0), s = in.k.extent(0);
  RowMajor<T> unrolled(n + s - 1, in.p_k.extent(1));
  for (Index t = 0; t < unrolled.rows(); ++t) unrolled.row(t) = vector(in.p_k[distance.row(n - 1, t)]).transpose();
  const RowMajor<T> by_distance = matrix(in.q) * unrolled.transpose();
  each_query(in, out,
             with_position(in, [&](Index i, Index j) { return by_distance.data()[(i + 1) * (n + s - 1) - s - i + j]; }),
             placed_values(in, distance));
}

template void pairwise(const In<float>&, const Out<float>&);
template void pairwise(const In<double>&, const Out<double>&);
template void split_logits(const In<float>&, const Out<float>&);
template void split_logits(const In<double>&, const Out<double>&);
template void bucketed_values(const In<float>&, const Out<float>&);
template void bucketed_values(const In<double>&, const Out<double>&);
template void skew(const In<float>&, const Out<float>&);
template void skew(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::shaw_relative
