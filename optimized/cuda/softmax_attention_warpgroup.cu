// SPDX-License-Identifier: MIT
// Softmax attention in one pass over keys by products of warpgroups: the scores of 64 queries and 64 keys stay in registers, where they
// become weights and the left operand of the product with the values, while the next keys and values are on their way to shared memory.
#include "attest/cuda/attended.hpp"

namespace attest::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kStages = 2;  // of keys and values: one is multiplied, one filled

/// 64 queries, and the keys and values of two tiles, stage after stage along the columns.
struct StagedTiles {
  int depth, columns;  // of one stage
  CoreTile<Bf16> queries, keys, values;

  __device__ StagedTiles(DynamicShared& memory, int depth_, int columns_)
      : depth(depth_), columns(columns_), queries(memory, kTile, depth), keys(memory, kTile, kStages * depth), values(memory, kTile, kStages * columns) {}

  static __host__ __device__ int depth_of(const Logits& p) { return round_up(p.q.width(), 16); }
  static std::size_t bytes(int depth, int columns) { return sizeof(Bf16) * kTile * static_cast<std::size_t>(depth + kStages * (depth + columns)); }
};

/// The outputs of 64 queries, in 8 * Eights columns.
template <int Eights>
__global__ __launch_bounds__(kThreads) void online(Logits p, Rows v, Answers o) {
  DynamicShared memory;
  const StagedTiles tiles(memory, StagedTiles::depth_of(p), 8 * Eights);
  __shared__ Shared<Columns, kWarps> used;
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p, chunk.sequence, head);
  const Panel<Bf16> values(v, LogitsOf<Bf16>::whole(p.keys, chunk.sequence), head);
  const int column = static_cast<int>(blockIdx.y) * tiles.columns, rest = o.width - column;
  const Span span{column, rest < tiles.columns ? rest : tiles.columns, false};
  const int begin = logits.keys_from(first), end = logits.keys_before(first + chunk.count);

  const auto fetch = [&](int j, int stage) {
    const int keys = end - j < kTile ? end - j : kTile;
    fill(tiles.keys, logits.k, j, keys, 0, tiles.depth, stage * tiles.depth);
    fill(tiles.values, values, j, keys, span.first, tiles.columns, stage * tiles.columns);
  };
  if (begin < end) {
    fill(tiles.queries, logits.q, first, chunk.count, 0, tiles.depth);
    fetch(begin, 0);
  }

  Strip<Bf16, Eights> sum;
  Seen seen;
  for (int j = begin, stage = 0; j < end; j += kTile, stage = 1 - stage) {
    wait_for_tiles_of_products();
    if (j + kTile < end) fetch(j + kTile, 1 - stage);

    Strip<Bf16, kScoreEights> scores;
    const auto queries = by_rows(tiles.queries, 0, 0), keys = by_rows(tiles.keys, 0, stage * tiles.depth);
    warpgroup_fence(scores.eights);
    int k = 0;
#pragma unroll 1
    do {
      multiply_add(scores.eights, queries.deeper(k), keys.deeper(k));
      k += 16;
    } while (k < tiles.depth);
    warpgroup_commit();
    warpgroup_wait(scores.eights);

    scores.each(kScoreEights, [&](int row, int x, float& score) { score = logits(first + strip_row() + row, j + x, score); });
    const TwoRows keep = seen.add(scores, kScoreEights);
    sum.each(Eights, [&](int row, int, float& value) { value *= keep[row]; });
    if (p.hides()) {
      tell_columns(columns_used(scores, kScoreEights), used);
      __syncthreads();
      clear_unused(tiles.values, used, kTile, tiles.columns, stage * tiles.columns);
      fence_proxies();
      __syncthreads();
    }

    MatrixA<Bf16> weights[kTile / 16];
#pragma unroll
    for (int s = 0; s < kTile / 16; ++s) weights[s] = operand_a<Bf16>(scores.eights[2 * s], scores.eights[2 * s + 1]);
    warpgroup_fence(sum.eights, weights);
#pragma unroll
    for (int s = 0; s < kTile / 16; ++s) multiply_add(sum.eights, weights[s], by_columns(tiles.values, 16 * s, stage * tiles.columns));
    warpgroup_commit();
    warpgroup_wait(sum.eights);
  }
  store_attended(sum, seen, p, values, logits.keys(), o, chunk, head, span);
}

constexpr int kFew = 8, kMany = 16;  // eights of columns of values in a block

template <int Eights>
void launch_online(Call& call, const Logits& p, const Rows& v, const Answers& o) {
  call.launch(online<Eights>, {p.queries.slots(), divide_up(o.width, 8 * Eights), call.heads()}, kThreads,
              StagedTiles::bytes(StagedTiles::depth_of(p), 8 * Eights), p, v, o);
}

}  // namespace

bool attends_by_warpgroup(const Logits& p) {
  constexpr std::size_t room = (227 - 1) * 1024;
  return p.similarity == Similarity::exp_product && compute_capability() == 90 && StagedTiles::bytes(StagedTiles::depth_of(p), 8 * kMany) <= room;
}

void attend_by_warpgroup(Call& call, const Logits& p, const Rows& v, const Answers& o) {
  if (o.width <= 8 * kFew) launch_online<kFew>(call, p, v, o);
  else launch_online<kMany>(call, p, v, o);
}

}  // namespace attest::cuda
