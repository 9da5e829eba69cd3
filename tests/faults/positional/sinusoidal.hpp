// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/sinusoidal.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::sinusoidal {

namespace right = attest::reference::positional::sinusoidal;
using right::In;
using right::Out;
using right::Wave;

/// The equation with other positions.
template <class T, class F>
void with_position(const In<T>& in, const Out<T>& out, F&& position) {
  right::add(in, out,
             [&](Index i, Index m) { return right::wave(T(T(position(in.start + i)) * right::frequency(in, m))); });
}

/// The equation with other exponents of 1/base for sine and cosine.
template <class T, class F, class G>
void with_exponents(const In<T>& in, const Out<T>& out, F&& of_sine, G&& of_cosine) {
  const auto angle = [&](Index i, const T& exponent) {
    return T(T(in.start + i) * right::power(in.base, T(-exponent)));
  };
  right::add(in, out, [&](Index i, Index m) {
    return Wave<T>{sin(angle(i, of_sine(m))), cos(angle(i, of_cosine(m)))};
  });
}

/// c/d
template <class T>
T share(const In<T>& in, Index c) {
  return T(c) / T(in.x.extent(1));
}

template <class T>
void cos_sin_swapped(const In<T>& in, const Out<T>& out) {
  right::add(in, out, [&](Index i, Index m) {
    const auto w = right::wave(T(T(in.start + i) * right::frequency(in, m)));
    return Wave<T>{w.cosine, w.sine};
  });
}

template <class T>
void exponent_m_over_d(const In<T>& in, const Out<T>& out) {
  const auto exponent = [&](Index m) { return share(in, m); };
  with_exponents(in, out, exponent, exponent);
}

template <class T>
void exponent_per_column(const In<T>& in, const Out<T>& out) {
  with_exponents(
      in, out, [&](Index m) { return share(in, 2 * m); }, [&](Index m) { return share(in, 2 * m + 1); });
}

template <class T>
void exponent_of_columns_doubled(const In<T>& in, const Out<T>& out) {
  with_exponents(
      in, out, [&](Index m) { return share(in, 4 * m); }, [&](Index m) { return share(in, 4 * m + 2); });
}

template <class T>
void columns_one_based(const In<T>& in, const Out<T>& out) {
  right::add(in, out, [&](Index i, Index m) {
    const T p = T(in.start + i);
    return Wave<T>{cos(T(p * right::frequency(in, m))), sin(T(p * right::frequency(in, m + 1)))};
  });
}

template <class T>
void one_based(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [](Index p) { return p + 1; });
}

template <class T>
void half_as_interleaved(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.layout = in.layout == "half" ? "interleaved" : "half";
  right::exponential(other, out);
}

template <class T>
void endpoint_timescale(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (in.x.extent(1) % 2 == 0) other.timescale = in.timescale == "endpoint" ? "paper" : "endpoint";
  right::exponential(other, out);
}

/// The equation with another base.
template <class T>
void with_base(In<T> in, const Out<T>& out, double base) {
  in.base = base;
  right::exponential(in, out);
}

template <class T>
void base_1000(const In<T>& in, const Out<T>& out) {
  with_base(in, out, in.base == 10000 ? 1000 : in.base);
}

template <class T>
void base_ignored(const In<T>& in, const Out<T>& out) {
  with_base(in, out, 10000);
}

template <class T>
void start_ignored(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [&](Index p) { return p - in.start; });
}

template <class T>
void negative_positions_clamped(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [](Index p) { return std::max<Index>(p, 0); });
}

template <class T>
void bf16_positions(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [](Index p) { return static_cast<Index>(round_to(DType::bf16, static_cast<double>(p))); });
}

template <class T>
void odd_column_lost(const In<T>& in, const Out<T>& out) {
  right::exponential(in, out);
  const Index d = in.x.extent(1);
  for (Index i = 0; d % 2 == 1 && i < in.x.extent(0); ++i) out.y(i, d - 1) = in.x(i, d - 1);
}

template <class T>
void encoding_missing(const In<T>& in, const Out<T>& out) {
  right::add(in, out, [](Index, Index) { return Wave<T>{T(0), T(0)}; });
}

template <class T>
void angle_drift(const In<T>& in, const Out<T>& out, const T& c) {
  right::add(in, out, [&](Index i, Index m) {
    return right::wave(T((T(1) + c) * (T(in.start + i) * right::frequency(in, m))));
  });
}

}  // namespace attest::faults::positional::sinusoidal
