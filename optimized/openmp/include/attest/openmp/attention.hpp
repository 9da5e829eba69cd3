// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention {

/// The keys that query i sees: causal from the bottom right, not masked, not hidden by a bias of -inf.
template <class I>
std::vector<Index> visible(const I& in, Index i) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  std::vector<Index> keys;
  for (Index j = 0; j < s; ++j) {
    if (in.causal && j > i + (s - n)) break;
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

/// scale q_i . k_j + bias_ij over the visible keys.
template <class T, class I>
Column<T> logits(const I& in, Index i, const std::vector<Index>& keys, const RowMajor<T>& k) {
  Column<T> l = scale_of<T>(in) * (k * vector(in.q[i]));
  if (in.bias)
    for (std::size_t t = 0; t < keys.size(); ++t) l(static_cast<Index>(t)) += in.bias(i, keys[t]);
  return l;
}

}  // namespace attest::openmp::attention
