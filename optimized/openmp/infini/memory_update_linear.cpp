// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_linear.hpp"

#include <vector>

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::memory_update_linear {

using attest::spec::infini::memory_update_linear::In;
using attest::spec::infini::memory_update_linear::Out;

/// One product of all features with all values.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k), v = openmp::matrix(in.v);
  auto state = carried(in.memory, in.z, phi.cols(), v.cols());
  add(state, phi, v);
  write(state, out.memory, out.z);
}

/// Token by token. The columns of the memory are independent, so each thread walks through all tokens with
/// its own columns; z is one more such walk.
template <class T>
void tokens(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k);
  auto state = carried(in.memory, in.z, phi.cols(), in.v.extent(1));
  for (Index t = 0; t < phi.rows(); ++t) state.z += phi.row(t).transpose();
  each_tile(state.memory.cols(), [&](Index first, Index count) {
    const RowMajor<T> v = openmp::matrix(in.v).middleCols(first, count);
    for (Index t = 0; t < phi.rows(); ++t)
      state.memory.middleCols(first, count).noalias() += phi.row(t).transpose() * v.row(t);
  });
  write(state, out.memory, out.z);
}

/// Every block of tokens by itself, then their sums in pairs, the carried state first. The tree depends on the number
/// of blocks only.
template <class T>
void scan(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.k), v = openmp::matrix(in.v);
  const Index n = phi.rows(), d = phi.cols(), m = v.cols(), blocks = (n + in.block - 1) / in.block;  // C1
  std::vector<State<T>> partial(static_cast<std::size_t>(blocks) + 1, {RowMajor<T>::Zero(d, m), Column<T>::Zero(d)});
  partial[0] = carried(in.memory, in.z, d, m);
#pragma omp parallel for schedule(dynamic) if (blocks > 1 && n * d * m > 4096)
  for (Index b = 0; b < blocks; ++b) {
    const Index first = b * in.block, count = std::min(in.block, n - first);
    add(partial[static_cast<std::size_t>(b) + 1], phi.middleRows(first, count), v.middleRows(first, count));
  }
  for (Index reach = 1; reach <= blocks; reach *= 2) {
#pragma omp parallel for if (n * d * m > 4096)
    for (Index s = 0; s <= blocks - reach; s += 2 * reach) {
      auto& left = partial[static_cast<std::size_t>(s)];
      const auto& right = partial[static_cast<std::size_t>(s + reach)];
      left.memory += right.memory;
      left.z += right.z;
    }
  }
  write(partial[0], out.memory, out.z);
}

template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void tokens(const In<float>&, const Out<float>&);
template void tokens(const In<double>&, const Out<double>&);
template void scan(const In<float>&, const Out<float>&);
template void scan(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::memory_update_linear
