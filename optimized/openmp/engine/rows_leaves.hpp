// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/engine/rows.hpp"

namespace attest::openmp::engine {

/// What a target compiles of the engine of rows.
template <class T>
struct RowLeaves {
  void (*map)(Feature, T* data, Index count);
  Index (*rotation_size)(Index pairs);
  /// Rows first .. first + count - 1, the first by its own angle; `wide` holds `rotation_size(pairs)` elements, `row`
  /// one of y; both are aligned in whole vectors.
  void (*rotate)(const Rotation<T>&, Index first, Index count, Wide<T>* wide, T* row);
};

}  // namespace attest::openmp::engine
