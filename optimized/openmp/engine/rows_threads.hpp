// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/openmp/tasks.hpp"
#include "openmp/engine/memory.hpp"
#include "openmp/engine/rows_leaves.hpp"

/// The threads of the engine of rows: fixed parts of the rows.
namespace attest::openmp::engine {

template <class T>
void run_rotate(const RowLeaves<T>& leaves, const Rotation<T>& in) {
  constexpr Index kRows = 512, kEnough = 1 << 15;
  const Index n = in.x.extent(0);
  each_task((n + kRows - 1) / kRows, n * in.x.extent(1) > kEnough, [&](Index t) {
    leaves.rotate(in, t * kRows, std::min(kRows, n - t * kRows),
                  scratch<Wide<T>>(leaves.rotation_size(in.theta.extent(0))), scratch<T>(in.x.extent(1)));
  });
}

}  // namespace attest::openmp::engine
