// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/learned.hpp"

namespace attest::reference::positional::learned {

using attest::spec::positional::learned::In;
using attest::spec::positional::learned::Out;

/// y_i = x_i + P_row(i)
template <class T, class F>
void add_rows(const In<T>& in, const Out<T>& out, F&& row) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = in.x(i, a) + in.table(row(i), a);
}

/// y_i = x_i + P_(start + i)      [Gehring et al. 2017, section 3.1]
template <class T>
void gather(const In<T>& in, const Out<T>& out) {
  add_rows(in, out, [&](Index i) { return in.start + i; });  // C1, C2
}

/// y_i = x_i + e_(start + i) P
template <class T>
void one_hot(const In<T>& in, const Out<T>& out) {
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto e = tabulate(in.table.extent(0), [&](Index p) { return T(p == in.start + i ? 1 : 0); });
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = in.x(i, a) + dot<T>(e, in.table.column(a));
  }
}

}  // namespace attest::reference::positional::learned
