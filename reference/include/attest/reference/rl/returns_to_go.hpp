// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/rl/returns_to_go.hpp"

namespace attest::reference::rl::returns_to_go {

using In = attest::spec::rl::returns_to_go::In<Number>;
using Out = attest::spec::rl::returns_to_go::Out<Number>;

/// r_first + .. + r_(first + count - 1)
inline Number rewards(const In& in, Index first, Index count) { return sum(in.r.rows(first, count)); }

/// R_t = sum_{u >= t} r_u      [Chen et al. 2021, section 3]
inline void suffix_sum(const In& in, const Out& out) {
  for (const Index t : wanted(out.returns)) out.returns(t) = rewards(in, t, in.r.extent(0) - t);
}

/// R_(t+1) = R_t - r_t from the total
inline void recursion(const In& in, const Out& out) {
  const Index steps = in.r.extent(0);
  Number rest = rewards(in, 0, steps);
  for (Index t = 0; t < steps; ++t) {
    if (is_wanted(out.returns, t)) out.returns(t) = rest;
    if (t + 1 < steps) rest = stage("return that is left", rest - in.r(t));
  }
}

/// The total less the rewards before t.
inline void prefix_difference(const In& in, const Out& out) {
  const Number total = stage("total", rewards(in, 0, in.r.extent(0)));
  for (const Index t : wanted(out.returns)) out.returns(t) = total - stage("prefix sums", rewards(in, 0, t));
}

}  // namespace attest::reference::rl::returns_to_go
