// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "attest/spec/sparse/longformer.hpp"

namespace attest::reference::sparse::longformer {

using In = attest::spec::sparse::longformer::In<Number>;
using Out = attest::spec::sparse::longformer::Out<Number>;
using attend::Keys;

inline bool is_global(const In& in, Index i) { return in.globals && in.globals(i); }

/// |i - j| <= r g and (i - j) mod g = 0
inline bool in_window(const In& in, Index i, Index j) {
  return std::abs(i - j) <= in.radius * in.dilation && (i - j) % in.dilation == 0;
}

/// j in S_i
inline bool sees(const In& in, Index i, Index j) {
  if (in.causal && j > i) return false;
  return in_window(in, i, j) || is_global(in, i) || (in.symmetric && is_global(in, j));
}

/// What row i attends with: the projections of G, as far as they are given, for its rows.
inline In projections(const In& in, Index i) {
  In one = in;
  if (is_global(in, i)) {
    if (in.q_g) one.q = in.q_g;
    if (in.k_g) one.k = in.k_g;
    if (in.v_g) one.v = in.v_g;
  }
  return one;
}

/// Row by row: form(row, out, i) attends with one query.
template <class F>
void each_query(const In& in, const Out& out, F&& form) {
  for (const Index i : wanted(out.o)) {
    In row = projections(in, i);
    row.q = row.q.rows(i, 1);
    form(row, Out{out.o.rows(i, 1)}, i);
  }
}

/// o_i = sum_{j in S_i} a_ij v_j      [Beltagy et al. 2020, section 3.1]
inline void mask(const In& in, const Out& out) {
  each_query(in, out, [&](const In& row, const Out& o, Index i) {
    attend::over_mask(row, o, [&](Index, Index j) { return sees(in, i, j); });
  });
}

/// The keys of the window in chunks, then those that are seen beside it.
template <class P>
std::vector<Keys> window_and_rest(const In& in, Index i, P&& chunk) {
  const Index n = in.k.extent(0);
  auto lists =
      attend::split(attend::keys_below(n, [&](Index j) { return sees(in, i, j) && in_window(in, i, j); }), chunk);
  lists.push_back(attend::keys_below(n, [&](Index j) { return sees(in, i, j) && !in_window(in, i, j); }));
  return lists;
}

/// The 2 r + 1 diagonals, then the columns of the global tokens.
inline void diagonals(const In& in, const Out& out) {
  each_query(in, out, [&](const In& row, const Out& o, Index i) {
    attend::over_lists(row, o, [&](Index) { return window_and_rest(in, i, [](Index) { return 0; }); });
  });
}

/// The window in chunks of r keys.
inline void chunks(const In& in, const Out& out) {
  const Index length = std::max<Index>(1, in.radius);
  each_query(in, out, [&](const In& row, const Out& o, Index i) {
    attend::over_lists(row, o, [&](Index) { return window_and_rest(in, i, [&](Index j) { return j / length; }); });
  });
}

}  // namespace attest::reference::sparse::longformer
