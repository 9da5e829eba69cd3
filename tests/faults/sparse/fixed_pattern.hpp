// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/fixed_pattern.hpp"
#include "faults/sparse/strided_pattern.hpp"

namespace attest::faults::sparse::fixed_pattern {

namespace right = attest::reference::sparse::fixed_pattern;
namespace sets = attest::reference::sparse::attend;
using right::In;
using right::Out;
using strided_pattern::with_parts;

inline void one_based_mod(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return j <= i && (j + 1) % in.period >= in.period - in.summary; });
}

inline void leading_summary(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return j <= i && j % in.period < in.summary; });
}

inline void not_causal(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return j / in.period == i / in.period; },
      [&](Index, Index j) { return j % in.period >= in.period - in.summary; });
}

inline void previous_block(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return j / in.period == i / in.period - 1; },
      [&](Index i, Index j) { return right::in_second(in, i, j); });
}

inline void c_plus_one(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return j <= i && j % in.period >= in.period - in.summary - 1; });
}

inline void last_summary_alone(const In& in, const Out& out) {
  with_parts(
      in, out, [&](Index i, Index j) { return right::in_first(in, i, j); },
      [&](Index i, Index j) { return right::in_second(in, i, j) && j / in.period >= i / in.period - 1; });
}

inline void union_counts_twice(const In& in, const Out& out) {
  strided_pattern::with_both_counted(in, out, right::in_first, right::in_second);
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

}  // namespace attest::faults::sparse::fixed_pattern
