// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_delta.hpp"

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/infini.hpp"

namespace attest::mpi::infini::memory_update_delta {

namespace contract = attest::spec::infini::memory_update_delta;

/// All ranks have the memory that is carried: what each rank's tokens add to it is a sum, as are those of all ranks.
template <class T>
int matrix(const attest_call* call) {
  return on_all_heads<T>(call, [](const std::vector<Head<T>>& heads, const World& world) {
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    States<T> sums(heads.size(), d, m + 1);  // [memory | z]
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto old = openmp::infini::carried(in.memory, in.z, d, m);
      const openmp::RowMajor<T> phi = openmp::features(in.feature_map, in.k);
      openmp::RowMajor<T> known = phi * old.memory;
      const openmp::Column<T> denominator = (phi * old.z).array() + static_cast<T>(in.eps);
      openmp::infini::divide_rows<T>(known, denominator, in.zero_denominator);
      const openmp::RowMajor<T> differs = openmp::matrix(in.v) - known;
      openmp::matrix(sums.of(h).columns(0, m)) = phi.transpose() * differs;
      openmp::vector(sums.of(h).column(m)) = phi.colwise().sum().transpose();
    }
    write_total(
        sums, heads.size(), world, [&](std::size_t h) { return contract::read<T>(heads[h]); },
        [&](std::size_t h) { return contract::write<T>(heads[h]); });
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "matrix", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, matrix<float>), kernel<double>(equation, form, can, matrix<double>)};
}

}  // namespace attest::mpi::infini::memory_update_delta
