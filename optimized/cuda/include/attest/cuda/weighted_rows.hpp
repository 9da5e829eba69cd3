// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/running_softmax.hpp"

/// Products of a block of attention: scores of queries and keys, and sums of rows by a tile of weights.

namespace attest::cuda {

/// scores(i, j) += a_i . b_j, or |a_i - b_j|^2: the distance of large and close rows would be lost in products.
template <Similarity similarity, class T, class Factor>
__device__ __forceinline__ void add_similarities(Strip<Factor, kScoreFragments>& scores, const Tiles<Factor>& tiles,
                                                 const Panel<T>& a, const Panel<T>& b, int first, int rows,
                                                 int first_key, int keys) {
  if constexpr (similarity != Similarity::exp_distance) {
    add_scores<T, Factor>(scores, tiles, a, b, first, rows, first_key, keys);
  } else {
    each_depth<T, Factor>(tiles, a, b, first, rows, first_key, keys, [&](int depth, int fragments) {
#pragma unroll 1
      for (int k = 0; k < depth; ++k)
        scores.each(fragments, [&](int i, int j, float& sum) {
          const float difference = element_at(tiles.left, strip_row() + i, k) - element_at(tiles.right, j, k);
          sum = __fmaf_rn(difference, difference, sum);
        });
    });
  }
}

/// Bit x is set where column x of 64 columns of weights has one that is not 0; one word for each warp. Rows of values
/// that only zero weights multiply may hold anything, NaN too, and count as 0.
using ColumnMask = std::uint64_t;

/// Of this lane's weights.
template <class Factor>
__device__ __forceinline__ ColumnMask columns_used(Strip<Factor, kScoreFragments>& weights, int fragments) {
  ColumnMask used = 0;
  weights.each(fragments, [&](int, int x, float weight) {
    if (weight < 0 || weight > 0) used |= ColumnMask{1} << x;  // a weight that is NaN makes NaN of 0, too
  });
  return used;
}

/// This warp's rows of the tile of weights.
template <class Factor>
__device__ __forceinline__ ColumnMask store_weights(Strip<Factor, kScoreFragments>& weights, const Tiles<Factor>& tiles,
                                                    int fragments) {
  weights.each(fragments, [&](int row, int x, float weight) {
    tiles.weights(strip_row() + row, x) = from_float<Stored<Factor>>(weight);
  });
  return columns_used(weights, fragments);
}

/// words(warp) = the columns that any row of this warp uses.
template <class Words>
__device__ __forceinline__ void publish_columns(ColumnMask used, const Words& words) {
  for (int distance = 16; distance > 0; distance /= 2) used |= __shfl_xor_sync(kAllLanes, used, distance);
  if (lane() == 0) words(warp()) = used;
}
/// tile(r, begin + x) = 0 in rows that no warp uses.
template <class Tile, class Words>
__device__ __forceinline__ void clear_unused(const Tile& tile, const Words& words, int rows, int columns,
                                             int begin = 0) {
  ColumnMask all = 0;
  for (int w = 0; w < kWarps; ++w) all |= static_cast<ColumnMask>(words(w));
  each_element(rows, columns, [&](int r, int x) {
    if (!(all >> r & 1)) tile(r, begin + x) = from_float<typename Tile::Value>(0.0f);
  });
}

/// Calls add(depth) when `count` rows of `other` from `first` on are in the tile of values, beside the tile of weights.
template <class T, class Factor, class Words, class Add>
__device__ __forceinline__ void with_values(const Tiles<Factor>& tiles, ColumnMask used, const Words& words, bool hides,
                                            const Panel<T>& other, int first, int count, int rows, const Span& span,
                                            Add&& add) {
  const int padded = round_up(count, 16);
  if (hides) publish_columns(used, words);
  fill_values<T>(tiles.values, other, first, count, padded, span);
  wait_for_tiles();
  if (hides) {
    clear_unused(tiles.values, words, padded, 8 * span.fragments());
    __syncthreads();
  }
  if (strip_is_in(rows)) add(padded);
  __syncthreads();
}

/// sum += weights other
template <class T, class Factor, class Words>
__device__ __forceinline__ void add_weighted(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles,
                                             ColumnMask used, const Words& words, bool hides, const Panel<T>& other,
                                             int first, int count, int rows, const Span& span) {
  with_values<T>(tiles, used, words, hides, other, first, count, rows, span, [&](int depth) {
    sum.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.weights, strip_row()},
                     Right<typename Tiles<Factor>::Tile>{tiles.values, 0}, depth, span.fragments());
  });
}

/// sum_r += sum_t weights_rt (other_t - own_r), own_r from `first_own` on. Where the weight is 0 either row may hold
/// anything.
template <class T, class Factor, class Words>
__device__ __forceinline__ void add_weighted_differences(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles,
                                                         ColumnMask used, const Words& words, bool hides,
                                                         const Panel<T>& other, int first, int count,
                                                         const Panel<T>& own, int first_own, int rows,
                                                         const Span& span) {
  fill<T>(tiles.left, own, first_own, rows, round_up(rows, 16), span.first, round_up(span.columns, 8));
  with_values<T>(tiles, used, words, hides, other, first, count, rows, span, [&](int depth) {
#pragma unroll 1
    for (int t = 0; t < depth; ++t)
      sum.each(span.fragments(), [&](int r, int x, float& value) {
        const float weight = element_at(tiles.weights, strip_row() + r, t),
                    difference = element_at(tiles.values, t, x) - element_at(tiles.left, strip_row() + r, x);
        if (weight != 0) value = __fmaf_rn(weight, difference, value);
      });
  });
}

}  // namespace attest::cuda
