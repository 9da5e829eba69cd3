// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_linear.hpp"

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/engine/recur.hpp"

namespace attest::mpi::infini::memory_update_linear {

namespace contract = attest::spec::infini::memory_update_linear;
namespace engine = openmp::engine;

/// The sums of the rank's tokens, those of the ranks before it, and the carried state: all of them are the last rank's.
template <class T>
int scan(const attest_call* call) {
  return on_all_heads<T>(call, [](const std::vector<Head<T>>& heads, const World& world) {
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    States<T> sums(heads.size(), d, m + 1);  // [memory | z]
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      engine::Recurrence<T> own{.map = engine::map_of<T>(in.feature_map)};
      own.k = in.k, own.v = in.v;
      own.S_after = sums.of(h).columns(0, m), own.z_after = sums.of(h).column(m);
      if (in.k.extent(0) > 0) engine::whole(own, engine::Whole::state, 1);
    }
    write_total(
        sums, heads.size(), world, [&](std::size_t h) { return contract::read<T>(heads[h]); },
        [&](std::size_t h) { return contract::write<T>(heads[h]); });
  });
}

std::vector<attest_kernel> kernels() {
  // A sum has no order: two pieces of the sequence on one rank are as good as one.
  constexpr const char *equation = contract::id.data(), *form = "scan", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, scan<float>), kernel<double>(equation, form, can, scan<double>)};
}

}  // namespace attest::mpi::infini::memory_update_linear
