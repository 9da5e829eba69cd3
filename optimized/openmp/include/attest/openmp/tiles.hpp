// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/view.hpp"

namespace attest::openmp {

/// Rows or columns that one thread works on at a time.
constexpr Index kTile = 32;

/// tile(first, count) for every tile of n, in parallel. Tiles never share a sum, so the number of threads changes no
/// bit.
template <class F>
void each_tile(Index n, F&& tile) {
#pragma omp parallel for schedule(dynamic) if (n > kTile)
  for (Index first = 0; first < n; first += kTile) tile(first, std::min(kTile, n - first));
}

}  // namespace attest::openmp
