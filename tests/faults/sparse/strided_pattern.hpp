// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/strided_pattern.hpp"
#include "faults/sparse/attend.hpp"

namespace attest::faults::sparse::strided_pattern {

namespace right = attest::reference::sparse::strided_pattern;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Out;

/// The equation with other sets: first(i, j) and second(i, j) say whether they hold key j.
template <class I, class O, class F, class S>
void with_parts(const I& in, const O& out, F&& first, S&& second) {
  sets::over_mask(in, out, [&](Index i, Index j) { return right::in_part(in.part, first(i, j), second(i, j)); });
}

/// Keys of both sets count twice where both are asked for.
template <class I, class O, class F, class S>
void with_both_counted(const I& in, const O& out, F&& first, S&& second) {
  const auto sees = [&](const I&, Index i, Index j) {
    return right::in_part(in.part, first(in, i, j), second(in, i, j));
  };
  attend::counted(in, out, attend::seen(in, sees), [&](Index i, Index j) {
    return in.part == decltype(in.part)::both && first(in, i, j) && second(in, i, j) ? 2 : 1;
  });
}

inline void window_l(const In& in, const Out& out) {
  with_parts(
      in, out,
      [&](Index i, Index j) {
        return right::in_first(in, i, j) &&
               (i == j || i - j < in.stride - (in.window == right::Window::exclusive ? 1 : 0));
      },
      [&](Index i, Index j) { return right::in_second(in, i, j); });
}

inline void future_columns(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return (i - j) % in.stride == 0; });
}

inline void absolute_columns(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return j <= i && j % in.stride == 0; });
}

inline void self_missing(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) {
    return right::sees(in, i, j) &&
           (i != j || sets::keys_below(i + 1, [&](Index r) { return right::sees(in, i, r); }).size() == 1);
  });
}

inline void stride_off_by_one(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return j <= i && (i - j) % (in.stride + 1) == 0; });
}

inline void window_not_causal(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j) || right::in_first(in, j, i); },
      [&](Index i, Index j) { return right::in_second(in, i, j); });
}

inline void union_counts_twice(const In& in, const Out& out) {
  with_both_counted(in, out, right::in_first, right::in_second);
}

inline void first_for_second(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_second(in, i, j); },
      [&](Index i, Index j) { return right::in_first(in, i, j); });
}

inline void part_ignored(const In& in, const Out& out) {
  sets::over_mask(in, out, [&](Index i, Index j) { return right::in_first(in, i, j) || right::in_second(in, i, j); });
}

inline void scale_missing(const In& in, const Out& out) {
  attend::scaled(in, out, attend::missing_scale(in), attend::seen(in, right::sees));
}

inline void scale_ignored(const In& in, const Out& out) {
  attend::scaled(in, out, attend::default_scale(in), attend::seen(in, right::sees));
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  attend::scaled(in, out, attend::drifted_scale(in, c), attend::seen(in, right::sees));
}

}  // namespace attest::faults::sparse::strided_pattern
