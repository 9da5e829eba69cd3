// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/learned.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::learned {

namespace right = attest::reference::positional::learned;
using right::In;
using right::Out;

/// The equation with factors of token and table.
inline void with_factors(const In& in, const Out& out, const Number& of_x, const Number& of_table) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = of_x * in.x(i, a) + of_table * in.table(in.start + i, a);
}

inline void off_by_one(const In& in, const Out& out) {
  right::add_rows(in, out, [&](Index i) { return std::min(in.start + i + 1, in.table.extent(0) - 1); });
}

inline void clipped_index(const In& in, const Out& out) {
  right::add_rows(in, out, [&](Index i) { return std::min(in.start + i, in.x.extent(0) - 1); });
}

inline void start_ignored(const In& in, const Out& out) {
  right::add_rows(in, out, [](Index i) { return i; });
}

inline void scaled_embedding(const In& in, const Out& out) {
  with_factors(in, out, sqrt(Number(in.x.extent(1))), Number(1));
}

inline void table_ignored(const In& in, const Out& out) { with_factors(in, out, Number(1), Number(0)); }

inline void same_row_for_all(const In& in, const Out& out) {
  right::add_rows(in, out, [&](Index) { return in.start; });
}

inline void rows_reversed(const In& in, const Out& out) {
  right::add_rows(in, out, [&](Index i) { return in.start + in.x.extent(0) - 1 - i; });
}

inline void table_drift(const In& in, const Out& out, const Number& c) {
  with_factors(in, out, Number(1), Number(1) + c);
}

}  // namespace attest::faults::positional::learned
