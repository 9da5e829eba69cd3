// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/mpi/plugin.hpp"
#include "attest/mpi/states.hpp"

namespace attest::mpi {

/// Updates the memory and z of each head by sums over tokens: of a rank's tokens `add` puts them into a state
/// [memory | z], to which those of the ranks before it and the carried state are added; all of them are the last
/// rank's. `read` and `write` are those of the equation's contract.
template <class T, class Read, class Write, class Add>
int update_memory(const attest_call* call, const Read& read, const Write& write, const Add& add) {
  return on_all_heads(call, [&](const std::vector<Head>& heads, const World& world) {
    const auto first = read(heads[0]);
    const Index d = first.k.extent(1), m = first.v.extent(1);
    States<T> sums(heads.size(), d, m + 1);
    for (std::size_t h = 0; h < heads.size(); ++h) add(read(heads[h]), sums.of(h));
    States<T> before = sums;
    before.sum_before(world.forward);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto in = read(heads[h]);
      add_carried<T>(before.of(h).columns(0, m), before.of(h).column(m), sums.of(h));
      add_carried<T>(in.memory, in.z, sums.of(h));
    }
    sums.take_from_last(world);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const auto out = write(heads[h]);
      write_state<T>(sums.of(h), out.memory, out.z);
    }
  });
}

}  // namespace attest::mpi
