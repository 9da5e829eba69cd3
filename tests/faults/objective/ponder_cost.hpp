// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/ponder_cost.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::ponder_cost {

namespace right = attest::reference::objective::ponder_cost;
using right::In;
using right::Out;

inline void steps_only(const In& in, const Out& out) {
  right::total(in, out, [](const Number& n, const Number&) { return n; });
}

inline void remainder_only(const In& in, const Out& out) {
  right::total(in, out, [](const Number&, const Number& r) { return r; });
}

inline void mean(const In& in, const Out& out) {
  right::direct(in, out);
  out.cost() = out.cost() / Number(in.steps.extent(0));
}

inline void wrong_remainder(const In& in, const Out& out) {
  right::total(in, out, [](const Number& n, const Number& r) { return n + (1 - r); });
}

inline void tau_ignored(const In& in, const Out& out) {
  In other = in;
  other.tau = 0.01;
  right::direct(other, out);
}

inline void steps_from_0(const In& in, const Out& out) {
  right::total(in, out, [](const Number& n, const Number& r) { return n - 1 + r; });
}

inline void steps_weighted_by_remainder(const In& in, const Out& out) {
  right::total(in, out, [](const Number& n, const Number& r) { return n * r; });
}

/// The first tokens alone.
inline void first(const In& in, const Out& out, Index count) {
  In part = in;
  part.steps = in.steps.rows(0, count);
  part.remainders = in.remainders.rows(0, count);
  right::direct(part, out);
}

inline void last_dropped(const In& in, const Out& out) { first(in, out, std::max<Index>(0, in.steps.extent(0) - 1)); }

inline void tail_dropped(const In& in, const Out& out) { first(in, out, in.steps.extent(0) / 8 * 8); }

inline void tau_drift(const In& in, const Out& out, const Number& c) {
  right::direct(in, out);
  out.cost() = out.cost() * (Number(1) + c);
}

}  // namespace attest::faults::objective::ponder_cost
