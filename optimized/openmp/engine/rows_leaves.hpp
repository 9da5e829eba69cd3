// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/engine/rows.hpp"

namespace attest::openmp::engine {

/// What a target compiles of the engine of rows.
template <class T>
struct RowLeaves {
  void (*map)(Feature, T* data, Index count);
};

}  // namespace attest::openmp::engine
