// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/alibi.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::alibi {

namespace right = attest::reference::positional::alibi;
using right::In;
using right::Out;

/// How far query i is from key j, in either direction.
template <class T>
Index distance_of(const In<T>& in, Index i, Index j) {
  return std::abs(right::position(in, i) - j);
}

/// The equation with other slopes.
template <class T, class F>
void with_slopes(const In<T>& in, const Out<T>& out, F&& slope) {
  right::with_bias(in, out, [&](Index h, Index i, Index j) { return -(slope(h, i) * T(distance_of(in, i, j))); });
}

/// The equation with other slopes where none are given.
template <class T, class F>
void with_formula(const In<T>& in, const Out<T>& out, F&& slope) {
  with_slopes(in, out, [&](Index h, Index) { return in.slopes ? T(in.slopes(h)) : T(slope(h, in.q.extent(0))); });
}

template <class T>
void reversed_vector(const In<T>& in, const Out<T>& out) {
  right::with_bias(in, out, [&](Index h, Index, Index j) { return -(right::slope(in, h) * T(j)); });
}

template <class T>
void positive_bias(const In<T>& in, const Out<T>& out) {
  with_slopes(in, out, [&](Index h, Index) { return -right::slope(in, h); });
}

template <class T>
void bias_scaled(const In<T>& in, const Out<T>& out) {
  const T scale = right::plain::scale_of<T>(right::head(in, 0));
  with_slopes(in, out, [&](Index h, Index) { return scale * right::slope(in, h); });
}

template <class T>
void slope_from_one(const In<T>& in, const Out<T>& out) {
  with_formula(in, out, [](Index h, Index heads) { return right::power_slope<T>(h - 1, heads); });
}

template <class T>
void naive_slopes(const In<T>& in, const Out<T>& out) {
  with_formula(in, out, [](Index h, Index heads) { return right::power_slope<T>(h, heads); });
}

template <class T>
void extra_slopes_unstrided(const In<T>& in, const Out<T>& out) {
  with_formula(in, out, [](Index h, Index heads) {
    Index c = 1;
    while (2 * c <= heads) c *= 2;
    return h < c ? right::power_slope<T>(h, c) : right::power_slope<T>(h - c, 2 * c);
  });
}

template <class T>
void query_head_index(const In<T>& in, const Out<T>& out) {
  with_slopes(in, out, [&](Index, Index i) { return right::slope(in, i % in.q.extent(0)); });
}

template <class T>
void bias_of_query_rows(const In<T>& in, const Out<T>& out) {
  right::with_bias(in, out,
                   [&](Index h, Index i, Index j) { return -(right::slope(in, h) * T(Index{std::abs(i - j)})); });
}

template <class T>
void bf16_slopes(const In<T>& in, const Out<T>& out) {
  with_slopes(in, out, [&](Index h, Index) { return T(round_to(DType::bf16, approximate(right::slope(in, h)))); });
}

template <class T>
void bf16_distances(const In<T>& in, const Out<T>& out) {
  right::with_bias(in, out, [&](Index h, Index i, Index j) {
    return -(right::slope(in, h) *
             T(static_cast<Index>(round_to(DType::bf16, static_cast<double>(distance_of(in, i, j))))));
  });
}

template <class T>
void slopes_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.slopes = {};
  right::distance(other, out);
}

template <class T>
void bias_missing(const In<T>& in, const Out<T>& out) {
  right::with_bias(in, out, [](Index, Index, Index) { return T(0); });
}

/// Key 0 is always seen.
template <class T>
void symmetric_ignored(const In<T>& in, const Out<T>& out) {
  right::attend(
      in, out, [&](Index i, Index j) { return j == 0 || j <= right::position(in, i); },
      [&](Index h, Index i, Index j, const T& product) { return product + right::penalty(in, h, i, j); });
}

template <class T>
void causal_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.symmetric = true;
  right::distance(other, out);
}

template <class T>
void signed_distance(const In<T>& in, const Out<T>& out) {
  right::with_bias(in, out, [&](Index h, Index, Index j) { return right::slope(in, h) * T(j); });
}

template <class T>
void query_offset_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.query_offset = 0;
  return in.symmetric ? right::distance(other, out) : symmetric_ignored(other, out);
}

/// The equation with another factor of the products.
template <class T>
void with_scale(const In<T>& in, const Out<T>& out, double scale) {
  In<T> other = in;
  other.scale = scale;
  right::distance(other, out);
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  with_scale(in, out, in.scale.value_or(1));
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = {};
  right::distance(other, out);
}

template <class T>
void slope_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_slopes(in, out, [&](Index h, Index) { return right::slope(in, h) * (T(1) + c); });
}

template <class T>
void shifted_rows(const In<T>& in, const Out<T>& out) {
  if (in.symmetric) return right::distance(in, out);
  right::with_bias(in, out, [&](Index h, Index, Index j) { return right::slope(in, h) * T(j + 1 - in.k.extent(1)); });
}

}  // namespace attest::faults::positional::alibi
