// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/strided_pattern.hpp"
#include "attest/spec/sparse/fixed_pattern.hpp"

namespace attest::reference::sparse::fixed_pattern {

using In = attest::spec::sparse::fixed_pattern::In<Number>;
using Out = attest::spec::sparse::fixed_pattern::Out<Number>;
using attest::spec::sparse::fixed_pattern::Part;
using strided_pattern::in_part;

/// floor(j / l) = floor(i / l), j <= i
inline bool in_first(const In& in, Index i, Index j) { return j <= i && j / in.period == i / in.period; }

/// j mod l in {l - c, ..., l - 1}, j <= i
inline bool in_second(const In& in, Index i, Index j) {
  return j <= i && j % in.period >= in.period - in.summary;  // C2
}

inline bool sees(const In& in, Index i, Index j) { return in_part(in.part, in_first(in, i, j), in_second(in, i, j)); }

/// Attention over A1_i, A2_i or both      [Child et al. 2019, section 4.3]
inline void sets(const In& in, const Out& out) {
  attend::over_sets(in, out,
                    [&](Index i) { return attend::keys_below(i + 1, [&](Index j) { return sees(in, i, j); }); });
}

inline void mask(const In& in, const Out& out) {
  attend::over_mask(in, out, [&](Index i, Index j) { return sees(in, i, j); });
}

}  // namespace attest::reference::sparse::fixed_pattern
