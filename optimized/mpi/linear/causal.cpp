// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal.hpp"

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"
#include "attest/openmp/linear.hpp"

namespace attest::mpi::linear::causal {

namespace contract = attest::spec::linear::causal;
namespace engine = openmp::engine;

/// The total of the rank's tokens, the sum of those before it, then the rank's tokens on their own.
template <class T>
int two_level(const attest_call* call) {
  return on_all_heads(call, [](const std::vector<Head>& heads, const World& world) {
    const auto first = contract::read<T>(heads[0]);
    const Index c = first.phi_k.extent(1), m = first.v.extent(1);
    States<T> states(heads.size(), c, m + 1);  // [S | z]
    const auto each = [&](auto&& f) {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto in = contract::read<T>(heads[h]);
        const auto out = contract::write<T>(heads[h]);
        f(in, out, states.of(h));
      }
    };
    each([m](const auto& in, const auto& out, View<T, 2> state) {
      auto total = openmp::linear::recurrence_of<T>(in, out);
      total.q = {}, total.S = {}, total.z = {}, total.o = {};
      total.S_after = state.columns(0, m), total.z_after = state.column(m);
      if (in.v.extent(0) > 0) engine::whole(total, engine::Whole::state, 1);
    });
    states.sum_before(world.forward);
    each([m](const auto& in, const auto& out, View<T, 2> state) {
      add_carried<T>(in.S, in.Z, state);
      if (in.v.extent(0) == 0) return;
      auto tokens = openmp::linear::recurrence_of<T>(in, out);
      tokens.S = state.columns(0, m), tokens.z = state.column(m);
      engine::causal(tokens, engine::Order::chunked, in.chunk);  // C1, C2
      for (Index a = 0; a < state.extent(0); ++a) {
        for (Index b = 0; b < m; ++b) state(a, b) = out.S(a, b);
        state(a, m) = out.Z(a);
      }
    });
    states.take_from_last(world);
    each([](const auto&, const auto& out, View<T, 2> state) { write_state<T>(state, out.S, out.Z); });
  });
}

std::vector<attest_kernel> kernels() {
  constexpr const char *equation = contract::id.data(), *form = "two_level", *can = "ranks >= 1";
  return {kernel<float>(equation, form, can, two_level<float>), kernel<double>(equation, form, can, two_level<double>)};
}

}  // namespace attest::mpi::linear::causal
