// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_delta.hpp"

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::memory_update_delta {

using attest::spec::infini::memory_update_delta::In;
using attest::spec::infini::memory_update_delta::Out;

/// What the memory answers to all keys, then one product with what differs from it (C1).
template <class T>
void update(const In<T>& in, const Out<T>& out, engine::Whole order, Index shard) {
  auto memory = recurrence_of<T>(in, in.zero_denominator, static_cast<T>(in.eps));
  memory.k = in.k, memory.v = in.v, memory.delta = true;
  memory.S_after = out.memory, memory.z_after = out.z;
  engine::whole(memory, order, shard);
}

template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  update(in, out, engine::Whole::state, 1);
}
/// Shards of one token.
template <class T>
void tokens_old_state(const In<T>& in, const Out<T>& out) {
  update(in, out, engine::Whole::shards, 1);
}

/// The segment as one map of the old memory: it can be built before that memory is known.
template <class T>
void affine_scan(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k), v = openmp::matrix(in.v);
  auto state = carried(in.memory, in.z, phi.cols(), v.cols());
  const auto map = segment_map(phi, v, state.z, static_cast<T>(in.eps), in.zero_denominator);
  const RowMajor<T> old = state.memory;
  each_tile(phi.cols(), [&](Index first, Index count) {
    state.memory.middleRows(first, count).noalias() =
        map.A.middleRows(first, count) * old + map.B.middleRows(first, count);
    state.z.segment(first, count) += phi.middleCols(first, count).colwise().sum().transpose();
  });
  write(state, out.memory, out.z);
}

template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void tokens_old_state(const In<float>&, const Out<float>&);
template void tokens_old_state(const In<double>&, const Out<double>&);
template void affine_scan(const In<float>&, const Out<float>&);
template void affine_scan(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::memory_update_delta
