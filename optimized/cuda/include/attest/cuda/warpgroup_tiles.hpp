// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/attention_passes.hpp"

/// Softmax attention by products of warpgroups: the scores of 64 rows of one side and 64 of the other stay in
/// registers, where they become weights, or gradients, and the left operand of the next product, while the next 64 rows
/// are copied to shared memory.

namespace attest::cuda {

using Bf16 = __nv_bfloat16;

constexpr int kStages = 2;  // of tiles: one is multiplied, one filled

/// 64 rows of one side, for the whole pass.
struct KeptTile {
  CoreTile<Bf16> tile;
  Turns turns;

  __device__ KeptTile(DynamicShared& memory, int columns)
      : tile(memory, kTile, columns), turns(turns_of_core_matrices(columns)) {}
  __device__ void fill(const Panel<Bf16>& panel, int first, int count) const {
    cuda::fill(tile, panel, first, count, 0, turns);
  }
};
/// 64 rows of the other side in kStages stages, one beside the other: one is multiplied while the next is filled.
struct StagedTile {
  CoreTile<Bf16> tile;
  int columns;  // of one stage
  Turns turns;

  __device__ StagedTile(DynamicShared& memory, int columns_)
      : tile(memory, kTile, kStages * columns_), columns(columns_), turns(turns_of_core_matrices(columns_)) {}
  __device__ void fill(int stage, const Panel<Bf16>& panel, int first, int count, int column = 0) const {
    cuda::fill(tile, panel, first, count, column, turns, stage * columns);
  }
};
__host__ __device__ constexpr int depth_of(int width) { return round_up(width, 16); }
constexpr std::size_t bytes_of(int kept, int staged) {
  return sizeof(Bf16) * kTile * static_cast<std::size_t>(kept + kStages * staged);
}

/// Starts scores = a b^T; warpgroup_wait ends it.
__device__ __forceinline__ void start_scores(Strip<Bf16, kScoreFragments>& scores, const KeptTile& a,
                                             const StagedTile& b, int stage, int depth) {
  const auto left = by_rows(a.tile, 0, 0), right = by_rows(b.tile, 0, stage * b.columns);
  __syncwarp();  // rows of the next tile may have been fetched, in which lanes diverge
  warpgroup_fence(scores.fragments);
  int k = 0;
#pragma unroll 1
  do {
    multiply_add(scores.fragments, left.deeper(k), right.deeper(k));
    k += 16;
  } while (k < depth);
  warpgroup_commit();
}

/// sum += weights b, in the columns of b from `column` on. With `hides`, rows of b that no query has a weight for may
/// hold anything.
template <int Fragments, class Words>
__device__ __forceinline__ void add_weighted_rows(Strip<Bf16, Fragments>& sum, Strip<Bf16, kScoreFragments>& weights,
                                                  const StagedTile& b, int stage, int column, const Words& words,
                                                  bool hides) {
  if (hides) {
    publish_columns(columns_used(weights, kScoreFragments), words);
    __syncthreads();
    clear_unused(b.tile, words, kTile, b.columns, stage * b.columns);
    fence_proxies();
    __syncthreads();
  }
  PackedA factors[kTile / 16];
#pragma unroll
  for (int s = 0; s < kTile / 16; ++s)
    factors[s] = packed(operand_a<Bf16>(weights.fragments[2 * s], weights.fragments[2 * s + 1]));
  __syncwarp();  // weights may have been stored, where lanes diverge
  warpgroup_fence(sum.fragments, factors);
#pragma unroll
  for (int s = 0; s < kTile / 16; ++s)
    multiply_add(sum.fragments, factors[s], by_columns(b.tile, 16 * s, stage * b.columns + column));
  warpgroup_commit();
  warpgroup_wait(sum.fragments, factors);
}

/// launch.operator()<terms>() for the terms of these logits; `all`: whatever they have.
template <class Launch>
void with_terms(const Logits& logits, bool all, Launch&& launch) {
  switch (all ? Terms::any : logits.terms()) {
    case Terms::none: return launch.template operator()<Terms::none>();
    case Terms::seen: return launch.template operator()<Terms::seen>();
    case Terms::any: return launch.template operator()<Terms::any>();
  }
}

/// The output columns of this block.
template <int Fragments>
__device__ Span span_of_block(const OutputRows& output) {
  const int first = static_cast<int>(blockIdx.y) * 8 * Fragments, rest = output.width - first;
  return {first, rest < 8 * Fragments ? rest : 8 * Fragments, false};
}

constexpr int kNarrowBlock = 8, kWideBlock = 16;  // fragments of columns of outputs in a block
constexpr std::size_t kSharedBytes = (227 - 2) * 1024;

}  // namespace attest::cuda
