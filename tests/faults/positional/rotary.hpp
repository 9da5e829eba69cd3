// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/rotary.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::rotary {

namespace right = attest::reference::positional::rotary;
using right::In;
using right::Out;
using right::Turn;

/// The equation with another turn of pair m of token i.
template <class T, class F>
void with_turn(const In<T>& in, const Out<T>& out, F&& turn) {
  right::each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) { return right::turned<T>(turn(i, m), a, b); });
}

/// The turn by that angle.
template <class T>
Turn<T> by(const T& angle) { return {cos(angle), sin(angle)}; }

/// base^-exponent
template <class T>
T frequency(const In<T>& in, const T& exponent) { return exp(-exponent * log(T(in.base))); }

/// The equation at another position.
template <class T, class F>
void with_position(const In<T>& in, const Out<T>& out, F&& position) {
  with_turn(in, out, [&](Index i, Index m) { return right::turn<T>(in, position(i), m); });
}

template <class T>
void theta_repeated(const In<T>& in, const Out<T>& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto own = right::turn<T>(in, in.positions(i), m), before = right::turn<T>(in, in.positions(i), m == 1 ? 0 : m);
    return Turn<T>{own.cosine, before.sine};
  });
}

template <class T>
void half_split(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.pairing = in.pairing == "half" ? "interleaved" : "half";
  right::pairs(other, out);
}

template <class T>
void mixed_pairs(const In<T>& in, const Out<T>& out) {
  const Index half = in.x.extent(1) / 2;
  with_turn(in, out, [&](Index i, Index m) { return right::turn<T>(in, in.positions(i), in.pairing == "half" ? m / 2 : 2 * m % std::max<Index>(half, 1)); });
}

template <class T>
void opposite_direction(const In<T>& in, const Out<T>& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto r = right::turn<T>(in, in.positions(i), m);
    return Turn<T>{r.cosine, T(-r.sine)};
  });
}

template <class T>
void theta_one_based(const In<T>& in, const Out<T>& out) {
  with_turn(in, out, [&](Index i, Index m) { return by(T(T(in.positions(i)) * frequency(in, T(T(2 * (m + 1)) / T(in.x.extent(1)))))); });
}

template <class T>
void exponent_m_over_d(const In<T>& in, const Out<T>& out) {
  with_turn(in, out, [&](Index i, Index m) { return by(T(T(in.positions(i)) * frequency(in, T(T(m) / T(in.x.extent(1)))))); });
}

template <class T>
void position_off_by_one(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [&](Index i) { return in.positions(i) + 1; });
}

template <class T>
void positions_ignored(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [](Index i) { return i; });
}

template <class T>
void negative_positions_clamped(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [&](Index i) { return std::max<Index>(in.positions(i), 0); });
}

template <class T>
void bf16_positions(const In<T>& in, const Out<T>& out) {
  with_position(in, out, [&](Index i) { return static_cast<Index>(round_to(DType::bf16, static_cast<double>(in.positions(i)))); });
}

template <class T>
void base_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.base = 10000;
  right::pairs(other, out);
}

template <class T>
void base_1000(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (in.base == 10000) other.base = 1000;
  right::pairs(other, out);
}

template <class T>
void second_product_added(const In<T>& in, const Out<T>& out) {
  right::each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) {
    const auto r = right::turn<T>(in, in.positions(i), m);
    return std::pair(T(a * r.cosine + b * r.sine), T(b * r.cosine + a * r.sine));
  });
}

template <class T>
void angle_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_turn(in, out, [&](Index i, Index m) { return by(T((T(1) + c) * (T(in.positions(i)) * right::theta<T>(in, m)))); });
}

}  // namespace attest::faults::positional::rotary
