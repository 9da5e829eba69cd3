// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/performer_attention.hpp"

#include "attest/openmp/lowrank.hpp"

namespace attest::openmp::lowrank::performer_attention {

using attest::spec::lowrank::performer_attention::In;
using attest::spec::lowrank::performer_attention::Out;

/// The largest exponent that a row, or that all rows, are relative to.
enum class Relative { none, row, all };

/// Features of all rows of x.
template <class T>
RowMajor<T> features(const In<T>& in, View<const T, 2> rows, Relative relative) {
  const RowMajor<T> w = matrix(in.w);
  const T root = std::sqrt(std::sqrt(static_cast<T>(w.cols()))), factor = 1 / std::sqrt(static_cast<T>(w.rows()));
  RowMajor<T> phi(rows.extent(0), w.rows());
  each_tile(phi.rows(), [&](Index first, Index count) {
    const RowMajor<T> x = matrix(rows.rows(first, count)) / root;
    auto tile = phi.middleRows(first, count);
    tile = exponents<T>(x, w, false);
    if (relative == Relative::row) tile.colwise() -= tile.rowwise().maxCoeff().eval();
  });
  if (relative == Relative::all && phi.size() > 0) phi.array() -= phi.maxCoeff();
  each_tile(phi.rows(), [&](Index first, Index count) {
    auto tile = phi.middleRows(first, count);
    engine::map(engine::Feature::exp, tile.data(), tile.size());
    tile = ((tile.array() + static_cast<T>(in.stabiliser)) * factor).matrix();  // C3
  });
  return phi;
}

template <class T>
void causal(const In<T>& in, const Out<T>& out, engine::Order order) {
  const RowMajor<T> q = features(in, in.q, Relative::none), k = features(in, in.k, Relative::none);
  engine::causal(attention<T>(in, out, q, k), order, in.chunk);  // C1, C2
}
template <class T>
void whole(const In<T>& in, const Out<T>& out, engine::Whole order, Relative queries, Relative keys) {
  const RowMajor<T> q = features(in, in.q, queries), k = features(in, in.k, keys);
  engine::whole(attention<T>(in, out, q, k), order, in.chunk);
}

template <class T>
void quadratic(const In<T>& in, const Out<T>& out) {
  if (in.causal)
    causal(in, out, engine::Order::all_pairs);
  else
    whole(in, out, engine::Whole::all_pairs, Relative::none, Relative::none);
}
template <class T>
void linear(const In<T>& in, const Out<T>& out) {
  whole(in, out, engine::Whole::state, Relative::none, Relative::none);
}
template <class T>
void recurrent(const In<T>& in, const Out<T>& out) {
  causal(in, out, engine::Order::token_by_token);
}
template <class T>
void shifted(const In<T>& in, const Out<T>& out) {
  whole(in, out, engine::Whole::state, Relative::row, Relative::all);
}

template void quadratic(const In<float>&, const Out<float>&);
template void quadratic(const In<double>&, const Out<double>&);
template void linear(const In<float>&, const Out<float>&);
template void linear(const In<double>&, const Out<double>&);
template void recurrent(const In<float>&, const Out<float>&);
template void recurrent(const In<double>&, const Out<double>&);
template void shifted(const In<float>&, const Out<float>&);
template void shifted(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::performer_attention
