// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/span_penalty.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::span_penalty {

namespace right = attest::reference::objective::span_penalty;
using right::In;
using right::magnitude;
using right::Out;
using right::Reduce;

inline void l2(const In& in, const Out& out) {
  right::reduced(in, out, [&](Index h) { return in.z(h) * in.z(h); });
}

inline void fraction_z(const In& in, const Out& out) {
  right::reduced(in, out, [&](Index h) { return magnitude(in.z(h)) / 1024; });
}

inline void sign(const In& in, const Out& out) {
  right::reduced(in, out, [&](Index h) { return in.z(h); });
}

inline void max(const In& in, const Out& out) {
  Number largest(0);
  for (Index h = 0; h < in.z.extent(0); ++h)
    if (less(largest, magnitude(in.z(h)))) largest = magnitude(in.z(h));
  out.penalty() = parameter(in.coefficient) * largest;
}

inline void includes_ramp(const In& in, const Out& out) {
  right::reduced(in, out, [&](Index h) { return magnitude(in.z(h) + 32); });
}

inline void reduce_ignored(const In& in, const Out& out) {
  In other = in;
  other.reduce = Reduce::mean;
  right::sum(other, out);
}

inline void coefficient_ignored(const In& in, const Out& out) {
  In other = in;
  other.coefficient = 1;
  right::sum(other, out);
}

inline void clamped_at_0(const In& in, const Out& out) {
  right::reduced(in, out, [&](Index h) { return positive(in.z(h)) ? in.z(h) : Number(0); });
}

inline void zeros_not_counted(const In& in, const Out& out) {
  const Index heads = in.z.extent(0);
  Index counted = 0;
  for (Index h = 0; h < heads; ++h) counted += !is_zero(in.z(h));
  const Number factor = in.reduce == Reduce::mean && counted > 0 ? Number(heads) / Number(counted) : Number(1);
  right::reduced(in, out, [&](Index h) { return factor * magnitude(in.z(h)); });
}

/// Heads from `first` on are left out.
inline void without(const In& in, const Out& out, Index first) {
  right::reduced(in, out, [&](Index h) { return h < first ? magnitude(in.z(h)) : Number(0); });
}

inline void last_dropped(const In& in, const Out& out) { without(in, out, in.z.extent(0) - 1); }

inline void first_vector_only(const In& in, const Out& out) { without(in, out, in.z.extent(0) / 8 * 8); }

inline void spans_drift(const In& in, const Out& out, const Number& c) {
  right::reduced(in, out, [&](Index h) { return magnitude(in.z(h) * (Number(1) + c)); });
}

}  // namespace attest::faults::objective::span_penalty
