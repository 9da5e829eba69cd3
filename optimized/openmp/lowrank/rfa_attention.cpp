// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/rfa_attention.hpp"

#include "attest/openmp/lowrank.hpp"

namespace attest::openmp::lowrank::rfa_attention {

using attest::spec::lowrank::rfa_attention::In;
using attest::spec::lowrank::rfa_attention::KeyNorm;
using attest::spec::lowrank::rfa_attention::Out;

/// Features of all rows of x, those of keys times their factors if `weighed`.
template <class T>
RowMajor<T> features(const In<T>& in, View<const T, 2> rows, bool weighed) {
  const RowMajor<T> w = matrix(in.w);
  const T sigma = static_cast<T>(in.sigma);  // C1
  RowMajor<T> phi(rows.extent(0), 2 * w.rows());
  each_tile(phi.rows(), [&](Index first, Index count) {
    const RowMajor<T> x = matrix(rows.rows(first, count));
    auto tile = phi.middleRows(first, count);
    tile = waves<T>((x * w.transpose()) / sigma);
    if (!weighed) return;
    const Column<T> factors = (x.rowwise().squaredNorm().array() / (2 * sigma * sigma)).exp();
    tile.array().colwise() *= factors.array();
  });
  return phi;
}

/// attend(queries and keys as features).
template <class T, class F>
void run(const In<T>& in, const Out<T>& out, F&& attend) {
  const RowMajor<T> q = features(in, in.q, false), k = features(in, in.k, in.key_norm == KeyNorm::corrected);
  attend(attention<T>(in, out, q, k));
}

template <class T>
void quadratic(const In<T>& in, const Out<T>& out) {
  run(in, out, [&](const engine::Recurrence<T>& of) {
    if (in.causal)
      engine::causal(of, engine::Order::all_pairs, in.chunk);
    else
      engine::whole(of, engine::Whole::all_pairs, in.chunk);
  });
}
template <class T>
void linear(const In<T>& in, const Out<T>& out) {
  run(in, out, [&](const engine::Recurrence<T>& of) { engine::whole(of, engine::Whole::state, in.chunk); });
}
template <class T>
void recurrent(const In<T>& in, const Out<T>& out) {
  run(in, out, [&](const engine::Recurrence<T>& of) {
    engine::causal(of, engine::Order::token_by_token, in.chunk);  // C3
  });
}
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  run(in, out, [&](const engine::Recurrence<T>& of) {
    engine::causal(of, engine::Order::chunked, in.chunk);  // C2
  });
}

template void quadratic(const In<float>&, const Out<float>&);
template void quadratic(const In<double>&, const Out<double>&);
template void linear(const In<float>&, const Out<float>&);
template void linear(const In<double>&, const Out<double>&);
template void recurrent(const In<float>&, const Out<float>&);
template void recurrent(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::rfa_attention
