// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/rl/returns_to_go.hpp"
#include "faults/fault.hpp"

namespace attest::faults::rl::returns_to_go {

namespace right = attest::reference::rl::returns_to_go;
using right::In;
using right::Out;

/// returns_t = f(t)
template <class F>
void each_step(const Out& out, F&& f) {
  for (const Index t : wanted(out.returns)) out.returns(t) = f(t);
}

inline void exclusive(const In& in, const Out& out) {
  each_step(out, [&](Index t) { return right::rewards(in, t + 1, in.r.extent(0) - t - 1); });
}

inline void prefix_sum(const In& in, const Out& out) {
  each_step(out, [&](Index t) { return right::rewards(in, 0, t + 1); });
}

inline void discounted(const In& in, const Out& out) {
  each_step(out, [&](Index t) {
    Number total(0);
    for (Index u = in.r.extent(0); u-- > t;) total = in.r(u) + rational(99, 100) * total;
    return total;
  });
}

inline void mean(const In& in, const Out& out) {
  each_step(out, [&](Index t) {
    const Index steps = in.r.extent(0) - t;
    return right::rewards(in, t, steps) / Number(steps);
  });
}

inline void total_everywhere(const In& in, const Out& out) {
  each_step(out, [&](Index) { return right::rewards(in, 0, in.r.extent(0)); });
}

inline void last_dropped(const In& in, const Out& out) {
  each_step(out, [&](Index t) { return right::rewards(in, t, std::max<Index>(0, in.r.extent(0) - t - 1)); });
}

inline void shifted(const In& in, const Out& out) {
  each_step(out, [&](Index t) {
    const Index from = std::max<Index>(0, t - 1);
    return right::rewards(in, from, in.r.extent(0) - from);
  });
}

inline void block_sums_dropped(const In& in, const Out& out) {
  each_step(out, [&](Index t) {
    const Index end = std::min(in.r.extent(0), (t / 32 + 1) * 32);
    return right::rewards(in, t, end - t);
  });
}

inline void total_less_prefix(const In& in, const Out& out) { right::prefix_difference(in, out); }

inline void rewards_drift(const In& in, const Out& out, const Number& c) {
  each_step(out, [&](Index t) { return right::rewards(in, t, in.r.extent(0) - t) * (Number(1) + c); });
}

}  // namespace attest::faults::rl::returns_to_go
