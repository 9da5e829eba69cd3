// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

/// Shared by the kernels of objectives.
namespace attest::openmp::objective {

/// The mean of loss(t) over the tokens that are counted: losses in tiles, then one sum in order. NaN where none is.
template <class T, class F>
T mean(View<const bool, 1> mask, Index tokens, F&& loss) {
  std::vector<Index> rows;
  for (Index t = 0; t < tokens; ++t)
    if (!mask || mask(t)) rows.push_back(t);
  Column<T> losses(static_cast<Index>(rows.size()));
  each_tile(losses.size(), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) losses(i) = loss(rows[static_cast<std::size_t>(i)]);
  });
  return losses.sum() / static_cast<T>(losses.size());
}

/// -ln p of a class: the logarithm of the sum of exponentials, none above 1, less the class's own exponent.
template <class X>
auto cross_entropy(const X& logits, Index target) {
  const auto m = logits.maxCoeff();
  return std::log((logits.array() - m).exp().sum()) + (m - logits(target));
}

}  // namespace attest::openmp::objective
