// SPDX-License-Identifier: MIT
#include "attest/spec/positional/shaw_relative.hpp"

#include <algorithm>
#include <vector>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"

namespace attest::openmp::positional::shaw_relative {

using attest::spec::positional::shaw_relative::In;
using attest::spec::positional::shaw_relative::Out;
using engine::Tile;

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

/// Every form: `position(i, j)` is added to the scaled product, `place(tile, shares)` adds to rows of o what weights
/// make of the positions of values. A query that sees nothing gets 0 (C2).
template <class T, class P, class V>
void attend(const In<T>& in, const Out<T>& out, P&& position, V&& place) {
  auto problem = attention::problem_of<T>(in);
  problem.edit = [&](const Tile<T>& l) {
    l.each([&](T& logit, Index i, Index j) { logit += problem.scale * position(i, j); });
  };
  RowMajor<T> placed = RowMajor<T>::Zero(in.q.extent(0), in.v.extent(1));
  engine::attend(
      problem,
      {.schedule = engine::Schedule::whole_row, .weights = [&](const Tile<T>& a) { place(a, placed); }, .o = out.o});
  matrix(out.o) += placed;
}

/// Each weight times the row of its position.
template <class T>
auto placed_values(const In<T>& in, const Distance<T>& distance) {
  return [&](const Tile<T>& a, RowMajor<T>& o) {
    a.each([&](T weight, Index i, Index j) {
      if (weight != 0) o.row(i) += weight * vector(in.p_v[distance.row(i, j)]).transpose();
    });
  };
}

template <class T>
void pairwise(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  attend(
      in, out, [&](Index i, Index j) { return vector(in.p_k[distance.row(i, j)]).dot(vector(in.q[i])); },
      placed_values(in, distance));
}

template <class T>
void split_logits(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  const RowMajor<T> by_row = matrix(in.q) * matrix(in.p_k).transpose();
  attend(in, out, [&](Index i, Index j) { return by_row(i, distance.row(i, j)); }, placed_values(in, distance));
}

/// Weights are added up per row of the table, so that p_v is multiplied by 2c + 1 numbers instead of s.
template <class T>
void bucketed_values(const In<T>& in, const Out<T>& out) {
  const Distance<T> distance(in);
  const RowMajor<T> by_row = matrix(in.q) * matrix(in.p_k).transpose();
  attend(
      in, out, [&](Index i, Index j) { return by_row(i, distance.row(i, j)); },
      [&](const Tile<T>& a, RowMajor<T>& o) {
        RowMajor<T> share = RowMajor<T>::Zero(a.queries, in.p_v.extent(0));
        for (Index i = 0; i < a.queries; ++i)
          for (Index j = a.key; j < a.key + a.keys; ++j) share(i, distance.row(a.query + i, j)) += a(a.query + i, j);
        o.middleRows(a.query, a.queries) += share * matrix(in.p_v);
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
  attend(
      in, out, [&](Index i, Index j) { return by_distance.data()[(i + 1) * (n + s - 1) - s - i + j]; },
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
