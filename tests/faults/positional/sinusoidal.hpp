// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/sinusoidal.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::sinusoidal {

namespace right = attest::reference::positional::sinusoidal;
using attest::spec::positional::sinusoidal::Layout;
using attest::spec::positional::sinusoidal::Timescale;
using right::In;
using right::Out;
using right::Wave;

/// The equation with other positions.
template <class F>
void with_position(const In& in, const Out& out, F&& position) {
  right::add(in, out, [&](Index i, Index m) { return right::wave(position(in.start + i) * right::frequency(in, m)); });
}

/// The equation with other exponents of 1/base for sine and cosine.
template <class F, class G>
void with_exponents(const In& in, const Out& out, F&& of_sine, G&& of_cosine) {
  const auto angle = [&](Index i, const Number& exponent) {
    return Number(in.start + i) * right::power(in.base, -exponent);
  };
  right::add(in, out, [&](Index i, Index m) { return Wave{sin(angle(i, of_sine(m))), cos(angle(i, of_cosine(m)))}; });
}

/// c/d
inline Number share(const In& in, Index c) { return Number(c) / Number(in.x.extent(1)); }

inline void cos_sin_swapped(const In& in, const Out& out) {
  right::add(in, out, [&](Index i, Index m) {
    const auto w = right::wave(Number(in.start + i) * right::frequency(in, m));
    return Wave{w.cosine, w.sine};
  });
}

inline void exponent_m_over_d(const In& in, const Out& out) {
  const auto exponent = [&](Index m) { return share(in, m); };
  with_exponents(in, out, exponent, exponent);
}

inline void exponent_per_column(const In& in, const Out& out) {
  with_exponents(in, out, [&](Index m) { return share(in, 2 * m); }, [&](Index m) { return share(in, 2 * m + 1); });
}

inline void exponent_of_columns_doubled(const In& in, const Out& out) {
  with_exponents(in, out, [&](Index m) { return share(in, 4 * m); }, [&](Index m) { return share(in, 4 * m + 2); });
}

inline void columns_one_based(const In& in, const Out& out) {
  right::add(in, out, [&](Index i, Index m) {
    const Number p = Number(in.start + i);
    return Wave{cos(p * right::frequency(in, m)), sin(p * right::frequency(in, m + 1))};
  });
}

inline void one_based(const In& in, const Out& out) {
  with_position(in, out, [](Index p) { return p + 1; });
}

inline void half_as_interleaved(const In& in, const Out& out) {
  In other = in;
  other.layout = in.layout == Layout::half ? Layout::interleaved : Layout::half;
  right::exponential(other, out);
}

inline void endpoint_timescale(const In& in, const Out& out) {
  In other = in;
  if (in.x.extent(1) % 2 == 0)
    other.timescale = in.timescale == Timescale::endpoint ? Timescale::paper : Timescale::endpoint;
  right::exponential(other, out);
}

/// The equation with another base.
inline void with_base(In in, const Out& out, double base) {
  in.base = base;
  right::exponential(in, out);
}

inline void base_1000(const In& in, const Out& out) { with_base(in, out, in.base == 10000 ? 1000 : in.base); }

inline void base_ignored(const In& in, const Out& out) { with_base(in, out, 10000); }

inline void start_ignored(const In& in, const Out& out) {
  with_position(in, out, [&](Index p) { return p - in.start; });
}

inline void negative_positions_clamped(const In& in, const Out& out) {
  with_position(in, out, [](Index p) { return std::max<Index>(p, 0); });
}

inline void bf16_positions(const In& in, const Out& out) {
  with_position(in, out, [](Index p) { return static_cast<Index>(round_to(DType::bf16, static_cast<double>(p))); });
}

inline void odd_column_lost(const In& in, const Out& out) {
  right::exponential(in, out);
  const Index d = in.x.extent(1);
  for (Index i = 0; d % 2 == 1 && i < in.x.extent(0); ++i) out.y(i, d - 1) = in.x(i, d - 1);
}

inline void encoding_missing(const In& in, const Out& out) {
  right::add(in, out, [](Index, Index) { return Wave{Number(0), Number(0)}; });
}

inline void angle_drift(const In& in, const Out& out, const Number& c) {
  right::add(in, out, [&](Index i, Index m) {
    return right::wave((Number(1) + c) * (Number(in.start + i) * right::frequency(in, m)));
  });
}

}  // namespace attest::faults::positional::sinusoidal
