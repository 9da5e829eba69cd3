// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/learned.hpp"

namespace attest::reference::positional::learned {

using In = attest::spec::positional::learned::In<Number>;
using Out = attest::spec::positional::learned::Out<Number>;

/// y_i = x_i + P_row(i)
template <class F>
void add_rows(const In& in, const Out& out, F&& row) {
  for (const Index i : wanted(out.y))
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = in.x(i, a) + in.table(row(i), a);
}

/// y_i = x_i + P_(start + i)      [Gehring et al. 2017, section 3.1]
inline void gather(const In& in, const Out& out) {
  add_rows(in, out, [&](Index i) { return in.start + i; });  // C1, C2
}

/// y_i = x_i + e_(start + i) P
inline void one_hot(const In& in, const Out& out) {
  for (const Index i : wanted(out.y)) {
    const auto e = tabulate(in.table.extent(0), [&](Index p) { return Number(p == in.start + i ? 1 : 0); });
    const auto row = stage("embeddings", product(e, in.table));
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = in.x(i, a) + row(a);
  }
}

}  // namespace attest::reference::positional::learned
