// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/learned.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::learned {

namespace right = attest::reference::positional::learned;
using right::In;
using right::Out;

/// The equation with factors of token and table.
template <class T>
void with_factors(const In<T>& in, const Out<T>& out, const T& of_x, const T& of_table) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = of_x * in.x(i, a) + of_table * in.table(in.start + i, a);
}

template <class T>
void off_by_one(const In<T>& in, const Out<T>& out) {
  right::add_rows(in, out, [&](Index i) { return std::min(in.start + i + 1, in.table.extent(0) - 1); });
}

template <class T>
void clipped_index(const In<T>& in, const Out<T>& out) {
  right::add_rows(in, out, [&](Index i) { return std::min(in.start + i, in.x.extent(0) - 1); });
}

template <class T>
void start_ignored(const In<T>& in, const Out<T>& out) {
  right::add_rows(in, out, [](Index i) { return i; });
}

template <class T>
void scaled_embedding(const In<T>& in, const Out<T>& out) {
  with_factors(in, out, sqrt(T(in.x.extent(1))), T(1));
}

template <class T>
void table_ignored(const In<T>& in, const Out<T>& out) {
  with_factors(in, out, T(1), T(0));
}

template <class T>
void same_row_for_all(const In<T>& in, const Out<T>& out) {
  right::add_rows(in, out, [&](Index) { return in.start; });
}

template <class T>
void rows_reversed(const In<T>& in, const Out<T>& out) {
  right::add_rows(in, out, [&](Index i) { return in.start + in.x.extent(0) - 1 - i; });
}

template <class T>
void table_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_factors(in, out, T(1), T(T(1) + c));
}

}  // namespace attest::faults::positional::learned
