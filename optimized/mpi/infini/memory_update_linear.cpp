// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_update_linear.hpp"

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/engine/recur.hpp"

namespace attest::mpi::infini::memory_update_linear {

namespace contract = attest::spec::infini::memory_update_linear;
namespace engine = openmp::engine;

template <class T>
void add(View<T, 2> more, View<T, 2> to) {
  for (Index a = 0; a < to.extent(0); ++a)
    for (Index b = 0; b < to.extent(1); ++b) to(a, b) += more(a, b);
}

/// The sums of the rank's tokens, those of the ranks before it, and the carried state: all of them are the last rank's.
template <class T>
int scan(const attest_call* call) {
  return on_all_heads<T>(call, [](const std::vector<Head<T>>& heads, const World& world) {
    const auto first = contract::read<T>(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    States<T> sums(heads.size(), d, m + 1), before(heads.size(), d, m + 1);  // [memory | z]
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      engine::Recurrence<T> own{.map = engine::map_of<T>(in.feature_map)};
      own.k = in.k, own.v = in.v;
      own.S_after = sums.of(h).columns(0, m), own.z_after = sums.of(h).column(m);
      if (in.k.extent(0) > 0) engine::whole(own, engine::Whole::state, 1);
      add(sums.of(h), before.of(h));
    }
    before.sum_before(world.forward);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = contract::read<T>(heads[h]);
      const auto S = sums.of(h).columns(0, m);
      const auto z = sums.of(h).column(m);
      add(before.of(h), sums.of(h));
      for (Index a = 0; a < d; ++a) {
        for (Index b = 0; in.memory && b < m; ++b) S(a, b) += in.memory(a, b);
        if (in.z) z(a) += in.z(a);
      }
    }
    sums.take_from_last(world);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto out = contract::write<T>(heads[h]);
      for (Index a = 0; a < d; ++a) {
        for (Index b = 0; b < m; ++b) out.memory(a, b) = sums.of(h)(a, b);
        out.z(a) = sums.of(h)(a, m);
      }
    }
  });
}

std::vector<attest_kernel> kernels() {
  // A sum has no order: two pieces of the sequence on one rank are as good as one.
  constexpr const char *equation = contract::id.data(), *form = "scan", *can = "ranks >= 1; zigzag == true";
  return {kernel<float>(equation, form, can, scan<float>), kernel<double>(equation, form, can, scan<double>)};
}

}  // namespace attest::mpi::infini::memory_update_linear
