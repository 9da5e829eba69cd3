// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/alibi.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::alibi {

namespace right = attest::reference::positional::alibi;
using right::In;
using right::Out;

/// How far query i is from key j, in either direction.
inline Index distance_of(const In& in, Index i, Index j) { return std::abs(right::position(in, i) - j); }

/// The equation with other slopes.
template <class F>
void with_slopes(const In& in, const Out& out, F&& slope) {
  right::with_bias(in, out, [&](Index h, Index i, Index j) { return -(slope(h, i) * distance_of(in, i, j)); });
}

/// The equation with other slopes where none are given.
template <class F>
void with_formula(const In& in, const Out& out, F&& slope) {
  with_slopes(in, out, [&](Index h, Index) { return in.slopes ? in.slopes(h) : slope(h, in.q.extent(0)); });
}

inline void reversed_vector(const In& in, const Out& out) {
  right::with_bias(in, out, [&](Index h, Index, Index j) { return -(right::slope(in, h) * Number(j)); });
}

inline void positive_bias(const In& in, const Out& out) {
  with_slopes(in, out, [&](Index h, Index) { return -right::slope(in, h); });
}

inline void bias_scaled(const In& in, const Out& out) {
  const Number scale = right::plain::scale_of(right::head(in, 0));
  with_slopes(in, out, [&](Index h, Index) { return scale * right::slope(in, h); });
}

inline void slope_from_one(const In& in, const Out& out) {
  with_formula(in, out, [](Index h, Index heads) { return right::power_slope(h - 1, heads); });
}

inline void naive_slopes(const In& in, const Out& out) {
  with_formula(in, out, [](Index h, Index heads) { return right::power_slope(h, heads); });
}

inline void extra_slopes_unstrided(const In& in, const Out& out) {
  with_formula(in, out, [](Index h, Index heads) {
    Index c = 1;
    while (2 * c <= heads) c *= 2;
    return h < c ? right::power_slope(h, c) : right::power_slope(h - c, 2 * c);
  });
}

inline void query_head_index(const In& in, const Out& out) {
  with_slopes(in, out, [&](Index, Index i) { return right::slope(in, i % in.q.extent(0)); });
}

inline void bias_of_query_rows(const In& in, const Out& out) {
  right::with_bias(in, out,
                   [&](Index h, Index i, Index j) { return -(right::slope(in, h) * Number(Index{std::abs(i - j)})); });
}

inline void bf16_slopes(const In& in, const Out& out) {
  with_slopes(in, out, [&](Index h, Index) {
    const double held = round_to(DType::bf16, approximate(right::slope(in, h)));
    return parameter(held);
  });
}

inline void bf16_distances(const In& in, const Out& out) {
  right::with_bias(in, out, [&](Index h, Index i, Index j) {
    return -(right::slope(in, h) *
             Number(static_cast<Index>(round_to(DType::bf16, static_cast<double>(distance_of(in, i, j))))));
  });
}

inline void slopes_ignored(const In& in, const Out& out) {
  In other = in;
  other.slopes = {};
  right::distance(other, out);
}

inline void bias_missing(const In& in, const Out& out) {
  right::with_bias(in, out, [](Index, Index, Index) { return Number(0); });
}

/// Key 0 is always seen.
inline void symmetric_ignored(const In& in, const Out& out) {
  right::attend(
      in, out, [&](Index i, Index j) { return j == 0 || j <= right::position(in, i); },
      [&](Index h, Index i, Index j, const Number& product) { return product + right::penalty(in, h, i, j); });
}

inline void causal_ignored(const In& in, const Out& out) {
  In other = in;
  other.symmetric = true;
  right::distance(other, out);
}

inline void signed_distance(const In& in, const Out& out) {
  right::with_bias(in, out, [&](Index h, Index, Index j) { return right::slope(in, h) * Number(j); });
}

inline void query_offset_ignored(const In& in, const Out& out) {
  In other = in;
  other.query_offset = 0;
  return in.symmetric ? right::distance(other, out) : symmetric_ignored(other, out);
}

/// The equation with another factor of the products.
inline void with_scale(const In& in, const Out& out, double scale) {
  In other = in;
  other.scale = scale;
  right::distance(other, out);
}

inline void scale_missing(const In& in, const Out& out) { with_scale(in, out, in.scale.value_or(1)); }

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::distance(other, out);
}

inline void slope_drift(const In& in, const Out& out, const Number& c) {
  with_slopes(in, out, [&](Index h, Index) { return right::slope(in, h) * (Number(1) + c); });
}

inline void shifted_rows(const In& in, const Out& out) {
  if (in.symmetric) return right::distance(in, out);
  right::with_bias(in, out,
                   [&](Index h, Index, Index j) { return right::slope(in, h) * Number(j + 1 - in.k.extent(1)); });
}

}  // namespace attest::faults::positional::alibi
