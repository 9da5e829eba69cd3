// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention {

/// The keys from the first to the last that the causal order and the window of query i hold, both from the bottom
/// right.
template <class I>
std::pair<Index, Index> reach(const I& in, Index i) {
  const Index s = in.k.extent(0), own = i + (s - in.q.extent(0));
  Index first = 0, last = in.causal ? std::min(own, s - 1) : s - 1;
  if constexpr (requires { in.window_left; }) {
    if (in.window_left >= 0) first = std::max(first, own - in.window_left);
    if (in.window_right >= 0) last = std::min(last, own + in.window_right);
  }
  return {first, last};
}

/// The keys that query i sees: in reach, not masked, not hidden by a bias of -inf.
template <class I>
std::vector<Index> visible(const I& in, Index i) {
  const auto [first, last] = reach(in, i);
  std::vector<Index> keys;
  for (Index j = first; j <= last; ++j) {
    if (in.mask && !in.mask(i, j)) continue;
    if (in.bias && std::isinf(in.bias(i, j)) && in.bias(i, j) < 0) continue;
    keys.push_back(j);
  }
  return keys;
}

/// The rows of x that are named, side by side.
template <class T>
RowMajor<T> rows_of(View<const T, 2> x, const std::vector<Index>& rows) {
  RowMajor<T> picked(static_cast<Index>(rows.size()), x.extent(1));
  for (std::size_t t = 0; t < rows.size(); ++t) picked.row(static_cast<Index>(t)) = vector(x[rows[t]]).transpose();
  return picked;
}

template <class T, class I>
T scale_of(const I& in) {
  return in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(in.q.extent(1)));
}

/// cap(scale q_i . k_j) + bias_ij over the visible keys.
template <class T, class I>
Column<T> logits(const I& in, Index i, const std::vector<Index>& keys, const RowMajor<T>& k) {
  Column<T> l = scale_of<T>(in) * (k * vector(in.q[i]));
  if constexpr (requires { in.softcap; })
    if (const T cap = static_cast<T>(in.softcap); cap > 0) l = cap * (l.array() / cap).tanh();
  if (in.bias)
    for (std::size_t t = 0; t < keys.size(); ++t) l(static_cast<Index>(t)) += in.bias(i, keys[t]);
  return l;
}

}  // namespace attest::openmp::attention
