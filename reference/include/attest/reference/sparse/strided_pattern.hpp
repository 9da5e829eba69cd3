// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/strided_pattern.hpp"

namespace attest::reference::sparse::strided_pattern {

using In = attest::spec::sparse::strided_pattern::In<Number>;
using Out = attest::spec::sparse::strided_pattern::Out<Number>;
using attend::Keys;
using attest::spec::sparse::strided_pattern::Part;
using attest::spec::sparse::strided_pattern::Window;

/// max(0, i - l) <= j <= i; without the first of these as the released code has it.
inline bool in_first(const In& in, Index i, Index j) {
  return j <= i && i - j <= in.stride - (in.window == Window::exclusive ? 1 : 0);
}

/// (i - j) mod l = 0, j <= i
inline bool in_second(const In& in, Index i, Index j) { return j <= i && (i - j) % in.stride == 0; }

/// Whether the part that is asked for holds a key that the first or the second set holds.
template <class P>
bool in_part(P part, bool first, bool second) {
  return (part != P::second && first) || (part != P::first && second);
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

/// Token i stands in row floor(i / l) and column i mod l: A2_i is its column up to its row, A1_i what it has beside it.
inline void transposed(const In& in, const Out& out) {
  const Index l = in.stride;
  attend::over_lists(in, out, [&](Index i) {
    Keys column;
    for (Index row = 0; row <= i / l && in.part != Part::first; ++row) column.push_back(row * l + i % l);
    const Keys others = attend::keys_below(i + 1, [&](Index j) {
      return in_part(in.part, in_first(in, i, j), false) && (in.part == Part::first || !in_second(in, i, j));
    });
    return std::vector{column, others};
  });
}

}  // namespace attest::reference::sparse::strided_pattern
