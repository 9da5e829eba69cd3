// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/elements.hpp"

/// Building blocks of kernels in which each warp has one row: a block has as many rows as warps.

namespace attest::cuda {

/// The sum over the lanes of a warp, in all lanes; the order of addition is fixed.
__device__ inline float warp_sum(float mine) {
  for (int distance = 16; distance > 0; distance /= 2)
    mine = __fadd_rn(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
  return mine;
}

/// visit(first column) for every piece of a row of this width, by the lanes of a warp.
template <class T, class Visit>
__device__ void each_piece_of_row(int width, Visit&& visit) {
  for (int column = lane() * Piece<T>::size; column < width; column += 32 * Piece<T>::size) visit(column);
}

/// visit(column, values...) for every element of a row, with the element of each panel.
template <class T, class Visit, class... Panels>
__device__ void each_of_row(int width, Index row, Visit&& visit, const Panels&... panels) {
  each_piece_of_row<T>(width, [&](int column) {
    const int count = width - column < Piece<T>::size ? width - column : Piece<T>::size;
    [&](const auto&... pieces) {
#pragma unroll
      for (int i = 0; i < Piece<T>::size; ++i)
        if (i < count) visit(column + i, pieces.values[i]...);
    }(Piece<T>::of(panels, row, column)...);
  });
}

}  // namespace attest::cuda
