// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/rotary.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::rotary {

namespace right = attest::reference::positional::rotary;
using attest::spec::positional::rotary::Pairing;
using right::In;
using right::Out;
using right::Turn;

/// The equation with another turn of pair m of token i.
template <class F>
void with_turn(const In& in, const Out& out, F&& turn) {
  right::each_pair(in, out,
                   [&](Index i, Index m, const Number& a, const Number& b) { return right::turned(turn(i, m), a, b); });
}

/// The turn by that angle.
inline Turn by(const Number& angle) { return {cos(angle), sin(angle)}; }

/// base^-exponent
inline Number frequency(const In& in, const Number& exponent) { return exp(-exponent * log(parameter(in.base))); }

/// The equation at another position.
template <class F>
void with_position(const In& in, const Out& out, F&& position) {
  with_turn(in, out, [&](Index i, Index m) { return right::turn(in, position(i), m); });
}

inline void theta_repeated(const In& in, const Out& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto own = right::turn(in, in.positions(i), m), before = right::turn(in, in.positions(i), m == 1 ? 0 : m);
    return Turn{own.cosine, before.sine};
  });
}

inline void half_split(const In& in, const Out& out) {
  In other = in;
  other.pairing = in.pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
  right::pairs(other, out);
}

inline void mixed_pairs(const In& in, const Out& out) {
  const Index half = in.x.extent(1) / 2;
  with_turn(in, out, [&](Index i, Index m) {
    return right::turn(in, in.positions(i), in.pairing == Pairing::half ? m / 2 : 2 * m % std::max<Index>(half, 1));
  });
}

inline void opposite_direction(const In& in, const Out& out) {
  with_turn(in, out, [&](Index i, Index m) {
    const auto r = right::turn(in, in.positions(i), m);
    return Turn{r.cosine, -r.sine};
  });
}

inline void theta_one_based(const In& in, const Out& out) {
  with_turn(in, out, [&](Index i, Index m) {
    return by(in.positions(i) * frequency(in, Number(2 * (m + 1)) / Number(in.x.extent(1))));
  });
}

inline void exponent_m_over_d(const In& in, const Out& out) {
  with_turn(in, out,
            [&](Index i, Index m) { return by(in.positions(i) * frequency(in, Number(m) / Number(in.x.extent(1)))); });
}

inline void position_off_by_one(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) { return in.positions(i) + 1; });
}

inline void positions_ignored(const In& in, const Out& out) {
  with_position(in, out, [](Index i) { return i; });
}

inline void negative_positions_clamped(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) { return std::max<Index>(in.positions(i), 0); });
}

inline void bf16_positions(const In& in, const Out& out) {
  with_position(in, out, [&](Index i) {
    return static_cast<Index>(round_to(DType::bf16, static_cast<double>(in.positions(i))));
  });
}

inline void base_ignored(const In& in, const Out& out) {
  In other = in;
  other.base = 10000;
  right::pairs(other, out);
}

inline void base_1000(const In& in, const Out& out) {
  In other = in;
  if (in.base == 10000) other.base = 1000;
  right::pairs(other, out);
}

inline void second_product_added(const In& in, const Out& out) {
  right::each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = right::turn(in, in.positions(i), m);
    return std::pair(a * r.cosine + b * r.sine, b * r.cosine + a * r.sine);
  });
}

inline void angle_drift(const In& in, const Out& out, const Number& c) {
  with_turn(in, out, [&](Index i, Index m) { return by((Number(1) + c) * (in.positions(i) * right::theta(in, m))); });
}

}  // namespace attest::faults::positional::rotary
