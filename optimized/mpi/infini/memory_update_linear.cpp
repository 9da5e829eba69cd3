// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_linear.hpp"

#include "attest/mpi/memory.hpp"
#include "attest/openmp/engine/recur.hpp"

namespace attest::mpi::infini::memory_update_linear {

namespace contract = attest::spec::infini::memory_update_linear;
namespace engine = openmp::engine;

template <class T>
int scan(const attest_call* call) {
  const auto read = [](const Head& head) { return contract::read<T>(head); };
  const auto write = [](const Head& head) { return contract::write<T>(head); };
  return update_memory<T>(call, read, write, [](const contract::In<T>& in, View<T, 2> state) {
    const Index m = in.v.extent(1);
    engine::Recurrence<T> own{.map = engine::map_of<T>(in.feature_map)};
    own.k = in.k, own.v = in.v;
    own.S_after = state.columns(0, m), own.z_after = state.column(m);
    if (in.k.extent(0) > 0) engine::whole(own, engine::Whole::state, 1);
  });
}

std::vector<attest_kernel> kernels() {
  // A sum has no order: two pieces of the sequence on one rank are as good as one.
  constexpr const char *equation = contract::id.data(), *form = "scan", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, scan<float>), kernel<double>(equation, form, can, scan<double>)};
}

}  // namespace attest::mpi::infini::memory_update_linear
