// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_delta.hpp"

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::memory_update_delta {

using attest::spec::infini::memory_update_delta::In;
using attest::spec::infini::memory_update_delta::Out;

/// All retrievals by the segment's keys, then one product with what differs from them (C1 in `retrieve`).
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k);
  auto state = carried(in.memory, in.z, phi.cols(), in.v.extent(1));
  RowMajor<T> u = openmp::matrix(in.v);
  each_tile(phi.rows(), [&](Index first, Index count) {
    u.middleRows(first, count) -=
        retrieve(phi.middleRows(first, count), state.memory, state.z, static_cast<T>(in.eps), in.zero_denominator);
  });
  add(state, phi, u);
  write(state, out.memory, out.z);
}

/// Token by token; each thread has some columns of the memory, frozen and growing, and walks through all tokens.
template <class T>
void tokens_old_state(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k);
  const auto old = carried(in.memory, in.z, phi.cols(), in.v.extent(1));
  auto state = old;
  for (Index t = 0; t < phi.rows(); ++t) state.z += phi.row(t).transpose();
  each_tile(old.memory.cols(), [&](Index first, Index count) {
    const RowMajor<T> v = openmp::matrix(in.v).middleCols(first, count), frozen = old.memory.middleCols(first, count);
    RowMajor<T> growing = frozen;
    for (Index t = 0; t < phi.rows(); ++t) {
      const RowMajor<T> r = retrieve(phi.row(t), frozen, old.z, static_cast<T>(in.eps), in.zero_denominator);
      growing.noalias() += phi.row(t).transpose() * (v.row(t) - r);
    }
    state.memory.middleCols(first, count) = growing;
  });
  write(state, out.memory, out.z);
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
