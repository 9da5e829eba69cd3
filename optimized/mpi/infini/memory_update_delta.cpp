// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_delta.hpp"

#include "attest/mpi/memory.hpp"
#include "attest/openmp/infini.hpp"

namespace attest::mpi::infini::memory_update_delta {

namespace contract = attest::spec::infini::memory_update_delta;

/// All ranks have the memory that is carried: what each rank's tokens add to it is a sum, as are those of all ranks.
template <class T>
int matrix(const attest_call* call) {
  const auto read = [](const Head& head) { return contract::read<T>(head); };
  const auto write = [](const Head& head) { return contract::write<T>(head); };
  return update_memory<T>(call, read, write, [](const contract::In<T>& in, View<T, 2> state) {
    const Index d = in.k.extent(1), m = in.v.extent(1);
    const auto old = openmp::infini::carried(in.memory, in.z, d, m);
    const openmp::RowMajor<T> phi = openmp::features(in.feature_map, in.k);
    openmp::RowMajor<T> known = phi * old.memory;
    const openmp::Column<T> denominator = (phi * old.z).array() + static_cast<T>(in.eps);
    openmp::infini::divide_rows<T>(known, denominator, in.zero_denominator);
    const openmp::RowMajor<T> differs = openmp::matrix(in.v) - known;
    openmp::matrix(state.columns(0, m)) = phi.transpose() * differs;
    openmp::vector(state.column(m)) = phi.colwise().sum().transpose();
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "matrix", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, matrix<float>), kernel<double>(equation, form, can, matrix<double>)};
}

}  // namespace attest::mpi::infini::memory_update_delta
