// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/coordinate_2d.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::coordinate_2d {

namespace right = attest::reference::positional::coordinate_2d;
using right::In;
using right::Out;
using right::sum_of;
using right::Wave;

/// The equation with other waves from those of the position and those of the step.
template <class T, class F>
void with_waves(const In<T>& in, const Out<T>& out, F&& combined) {
  right::add(in, out,
             [&](Index t, Index p, Index m) { return combined(right::wave(in, p, m), right::wave(in, t, m)); });
}

/// The equation at other positions and steps.
template <class T, class F>
void with_places(const In<T>& in, const Out<T>& out, F&& place) {
  right::add(in, out, [&](Index t, Index p, Index m) {
    const auto [position, step] = place(p, t);
    return sum_of(right::wave(in, position, m), right::wave(in, step, m));
  });
}

template <class T>
void concatenated(const In<T>& in, const Out<T>& out) {
  const auto [steps, n, d] = in.x.extents();
  const Index first = d - d / 2;
  for (Index s = 0; s < steps; ++s)
    for (Index i = 0; i < n; ++i)
      for (Index a = 0; a < d; ++a) {  // column c of an encoding of its own, as wide as its part
        const Index c = a < first ? a : a - first, width = a < first ? first : d / 2,
                    p = a < first ? in.position_start + i : in.step_start + s;
        const T angle = T(p) * reference::positional::sinusoidal::power(in.base, T(-(T(c / 2 * 2) / T(width))));
        out.y(s, i, a) = in.x(s, i, a) + (c % 2 == 0 ? T(sin(angle)) : T(cos(angle)));
      }
}

template <class T>
void multiplied(const In<T>& in, const Out<T>& out) {
  with_waves(in, out, [](const Wave<T>& p, const Wave<T>& t) { return Wave<T>{p.sine * t.sine, p.cosine * t.cosine}; });
}

template <class T>
void step_missing(const In<T>& in, const Out<T>& out) {
  with_waves(in, out, [](const Wave<T>& p, const Wave<T>&) { return p; });
}

template <class T>
void position_missing(const In<T>& in, const Out<T>& out) {
  with_waves(in, out, [](const Wave<T>&, const Wave<T>& t) { return t; });
}

template <class T>
void step_from_zero(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [](Index p, Index t) { return std::pair(p, t - 1); });
}

template <class T>
void step_frequencies_shared_wrongly(const In<T>& in, const Out<T>& out) {
  right::add(in, out, [&](Index t, Index p, Index m) { return sum_of(right::wave(in, p, m), right::wave(in, t, 0)); });
}

template <class T>
void one_based(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [](Index p, Index t) { return std::pair(p + 1, t); });
}

template <class T>
void position_and_step_exchanged(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [&](Index p, Index t) {
    return std::pair(t - in.step_start + in.position_start, p - in.position_start + in.step_start);
  });
}

template <class T>
void cos_sin_swapped(const In<T>& in, const Out<T>& out) {
  with_waves(in, out, [](const Wave<T>& p, const Wave<T>& t) { return Wave<T>{p.cosine + t.cosine, p.sine + t.sine}; });
}

template <class T>
void base_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.base = 10000;
  right::direct(other, out);
}

template <class T>
void position_start_ignored(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [&](Index p, Index t) { return std::pair(p - in.position_start, t); });
}

template <class T>
void step_start_ignored(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [&](Index p, Index t) { return std::pair(p, t - in.step_start + 1); });
}

template <class T>
void bf16_positions(const In<T>& in, const Out<T>& out) {
  with_places(in, out, [](Index p, Index t) {
    return std::pair(static_cast<Index>(round_to(DType::bf16, static_cast<double>(p))), t);
  });
}

template <class T>
void averaged(const In<T>& in, const Out<T>& out) {
  with_waves(in, out, [](const Wave<T>& p, const Wave<T>& t) {
    return Wave<T>{(p.sine + t.sine) / T(2), (p.cosine + t.cosine) / T(2)};
  });
}

template <class T>
void angle_drift(const In<T>& in, const Out<T>& out, const T& c) {
  const auto drifted = [&](Index p, Index m) {
    return reference::positional::sinusoidal::wave(T((T(1) + c) * (T(p) * right::frequency(in, m))));
  };
  right::add(in, out, [&](Index t, Index p, Index m) { return sum_of(drifted(p, m), drifted(t, m)); });
}

}  // namespace attest::faults::positional::coordinate_2d
