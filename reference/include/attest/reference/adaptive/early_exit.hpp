// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/adaptive/early_exit.hpp"

namespace attest::reference::adaptive::early_exit {

using In = attest::spec::adaptive::early_exit::In<Number>;
using Out = attest::spec::adaptive::early_exit::Out<Number>;

/// The first layer of 0 .. layers - 1 that is sure, or the last.
template <class F>
Index first_sure(Index layers, F&& sure) {
  for (Index n = 0; n + 1 < layers; ++n)
    if (sure(n)) return n;
  return layers - 1;
}

/// c_tn >= tau_n
inline bool sure(const In& in, Index t, Index n) { return !less(in.c(t, n), in.tau(n)); }

/// exit_t = layer(t), counted from 0
template <class F>
void each_token(const Out& out, F&& layer) {
  for (const Index t : wanted(out.exit)) out.exit(t) = Number(layer(t) + 1);
}

/// exit_t = min {n : c_tn >= tau_n}, or N      [Schuster et al. 2022, section 3.2]
inline void scan(const In& in, const Out& out) {
  each_token(out, [&](Index t) { return first_sure(in.c.extent(1), [&](Index n) { return sure(in, t, n); }); });
}

/// Layer after layer for the tokens that are left.
inline void incremental(const In& in, const Out& out) {
  std::vector<Index> left = wanted(out.exit);
  const Index layers = in.c.extent(1);
  for (Index n = 0; n < layers && !left.empty(); ++n)
    std::erase_if(left, [&](Index t) {
      const bool leaves = n + 1 == layers || sure(in, t, n);
      if (leaves) out.exit(t) = Number(n + 1);
      return leaves;
    });
}

}  // namespace attest::reference::adaptive::early_exit
