// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/coordinate_2d.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::coordinate_2d {

namespace right = attest::reference::positional::coordinate_2d;
using right::In;
using right::Out;
using right::sum_of;
using right::Wave;

/// The equation with other waves from those of the position and those of the step.
template <class F>
void with_waves(const In& in, const Out& out, F&& combined) {
  right::add(in, out,
             [&](Index t, Index p, Index m) { return combined(right::wave(in, p, m), right::wave(in, t, m)); });
}

/// The equation at other positions and steps.
template <class F>
void with_places(const In& in, const Out& out, F&& place) {
  right::add(in, out, [&](Index t, Index p, Index m) {
    const auto [position, step] = place(p, t);
    return sum_of(right::wave(in, position, m), right::wave(in, step, m));
  });
}

inline void concatenated(const In& in, const Out& out) {
  const auto [steps, n, d] = in.x.extents();
  const Index first = d - d / 2;
  for (Index s = 0; s < steps; ++s)
    for (Index i = 0; i < n; ++i)
      for (Index a = 0; a < d; ++a) {  // column c of an encoding of its own, as wide as its part
        const Index c = a < first ? a : a - first, width = a < first ? first : d / 2,
                    p = a < first ? in.position_start + i : in.step_start + s;
        const Number angle =
            Number(p) * reference::positional::sinusoidal::power(in.base, -(Number(c / 2 * 2) / Number(width)));
        out.y(s, i, a) = in.x(s, i, a) + (c % 2 == 0 ? sin(angle) : cos(angle));
      }
}

inline void multiplied(const In& in, const Out& out) {
  with_waves(in, out, [](const Wave& p, const Wave& t) { return Wave{p.sine * t.sine, p.cosine * t.cosine}; });
}

inline void step_missing(const In& in, const Out& out) {
  with_waves(in, out, [](const Wave& p, const Wave&) { return p; });
}

inline void position_missing(const In& in, const Out& out) {
  with_waves(in, out, [](const Wave&, const Wave& t) { return t; });
}

inline void step_from_zero(const In& in, const Out& out) {
  with_places(in, out, [](Index p, Index t) { return std::pair(p, t - 1); });
}

inline void step_frequencies_shared_wrongly(const In& in, const Out& out) {
  right::add(in, out, [&](Index t, Index p, Index m) { return sum_of(right::wave(in, p, m), right::wave(in, t, 0)); });
}

inline void one_based(const In& in, const Out& out) {
  with_places(in, out, [](Index p, Index t) { return std::pair(p + 1, t); });
}

inline void position_and_step_exchanged(const In& in, const Out& out) {
  with_places(in, out, [&](Index p, Index t) {
    return std::pair(t - in.step_start + in.position_start, p - in.position_start + in.step_start);
  });
}

inline void cos_sin_swapped(const In& in, const Out& out) {
  with_waves(in, out, [](const Wave& p, const Wave& t) { return Wave{p.cosine + t.cosine, p.sine + t.sine}; });
}

inline void base_ignored(const In& in, const Out& out) {
  In other = in;
  other.base = 10000;
  right::direct(other, out);
}

inline void position_start_ignored(const In& in, const Out& out) {
  with_places(in, out, [&](Index p, Index t) { return std::pair(p - in.position_start, t); });
}

inline void step_start_ignored(const In& in, const Out& out) {
  with_places(in, out, [&](Index p, Index t) { return std::pair(p, t - in.step_start + 1); });
}

inline void bf16_positions(const In& in, const Out& out) {
  with_places(in, out, [](Index p, Index t) {
    return std::pair(static_cast<Index>(round_to(DType::bf16, static_cast<double>(p))), t);
  });
}

inline void averaged(const In& in, const Out& out) {
  with_waves(in, out, [](const Wave& p, const Wave& t) {
    return Wave{(p.sine + t.sine) / Number(2), (p.cosine + t.cosine) / Number(2)};
  });
}

inline void angle_drift(const In& in, const Out& out, const Number& c) {
  const auto drifted = [&](Index p, Index m) {
    return reference::positional::sinusoidal::wave((Number(1) + c) * (Number(p) * right::frequency(in, m)));
  };
  right::add(in, out, [&](Index t, Index p, Index m) { return sum_of(drifted(p, m), drifted(t, m)); });
}

}  // namespace attest::faults::positional::coordinate_2d
