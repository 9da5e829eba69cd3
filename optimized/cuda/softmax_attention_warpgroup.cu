// SPDX-License-Identifier: MIT
// Softmax attention by products of warpgroups: the scores of 64 rows of one side and 64 of the other stay in registers, where they become
// weights, or gradients, and the left operand of the next product, while the next 64 rows are on their way to shared memory.
#include "attest/cuda/attended.hpp"

namespace attest::cuda {
namespace {

using Bf16 = __nv_bfloat16;

constexpr int kStages = 2;  // of tiles: one is multiplied, one filled

/// 64 rows of one side, for the whole pass.
struct KeptTile {
  CoreTile<Bf16> tile;
  int columns;

  __device__ KeptTile(DynamicShared& memory, int columns_) : tile(memory, kTile, columns_), columns(columns_) {}
  __device__ void fill(const Panel<Bf16>& panel, int first, int count) const { cuda::fill(tile, panel, first, count, 0, columns); }
};
/// 64 rows of the other side, some being multiplied and some on their way, one beside the other.
struct StagedTile {
  CoreTile<Bf16> tile;
  int columns;  // of one stage

  __device__ StagedTile(DynamicShared& memory, int columns_) : tile(memory, kTile, kStages * columns_), columns(columns_) {}
  __device__ void fill(int stage, const Panel<Bf16>& panel, int first, int count, int column = 0) const {
    cuda::fill(tile, panel, first, count, column, columns, stage * columns);
  }
};
__host__ __device__ constexpr int depth_of(int width) { return round_up(width, 16); }
constexpr std::size_t bytes_of(int kept, int staged) { return sizeof(Bf16) * kTile * static_cast<std::size_t>(kept + kStages * staged); }

/// scores = a b^T is under way.
__device__ __forceinline__ void start_scores(Strip<Bf16, kScoreEights>& scores, const KeptTile& a, const StagedTile& b, int stage, int depth) {
  const auto left = by_rows(a.tile, 0, 0), right = by_rows(b.tile, 0, stage * b.columns);
  warpgroup_fence(scores.eights);
  int k = 0;
#pragma unroll 1
  do {
    multiply_add(scores.eights, left.deeper(k), right.deeper(k));
    k += 16;
  } while (k < depth);
  warpgroup_commit();
}

/// sum += weights b, in the columns of b from `column` on. Rows of b that no query has a weight for may hold anything, where `hides` says so.
template <int Eights, class Words>
__device__ __forceinline__ void add_weighted_rows(Strip<Bf16, Eights>& sum, Strip<Bf16, kScoreEights>& weights, const StagedTile& b, int stage, int column,
                                                  const Words& words, bool hides) {
  if (hides) {
    tell_columns(columns_used(weights, kScoreEights), words);
    __syncthreads();
    clear_unused(b.tile, words, kTile, b.columns, stage * b.columns);
    fence_proxies();
    __syncthreads();
  }
  MatrixA<Bf16> factors[kTile / 16];
#pragma unroll
  for (int s = 0; s < kTile / 16; ++s) factors[s] = operand_a<Bf16>(weights.eights[2 * s], weights.eights[2 * s + 1]);
  warpgroup_fence(sum.eights, factors);
#pragma unroll
  for (int s = 0; s < kTile / 16; ++s) multiply_add(sum.eights, factors[s], by_columns(b.tile, 16 * s, stage * b.columns + column));
  warpgroup_commit();
  warpgroup_wait(sum.eights);
}

/// The columns of answers of this block.
template <int Eights>
__device__ Span span_of_block(const Answers& answers) {
  const int first = static_cast<int>(blockIdx.y) * 8 * Eights, rest = answers.width - first;
  return {first, rest < 8 * Eights ? rest : 8 * Eights, false};
}

/// The outputs of 64 queries, in 8 * Eights columns.
template <int Eights>
__global__ __launch_bounds__(kThreads) void online(Logits p, Rows v, Answers o) {
  DynamicShared memory;
  const int depth = depth_of(p.q.width());
  const KeptTile q(memory, depth);
  const StagedTile k(memory, depth), weighted(memory, 8 * Eights);
  __shared__ Shared<Columns, kWarps> used;
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p, chunk.sequence, head);
  const Panel<Bf16> values(v, LogitsOf<Bf16>::whole(p.keys, chunk.sequence), head);
  const Span span = span_of_block<Eights>(o);
  const int begin = logits.keys_from(first), end = logits.keys_before(first + chunk.count);

  const auto fetch = [&](int j, int stage) {
    const int keys = end - j < kTile ? end - j : kTile;
    k.fill(stage, logits.k, j, keys);
    weighted.fill(stage, values, j, keys, span.first);
  };
  if (begin < end) {
    q.fill(logits.q, first, chunk.count);
    fetch(begin, 0);
  }

  Strip<Bf16, Eights> sum;
  Seen seen;
  for (int j = begin, stage = 0; j < end; j += kTile, stage = 1 - stage) {
    wait_for_tiles_of_products();
    if (j + kTile < end) fetch(j + kTile, 1 - stage);

    Strip<Bf16, kScoreEights> scores;
    start_scores(scores, q, k, stage, depth);
    warpgroup_wait(scores.eights);
    logits.of_products<Side::queries>(scores, kScoreEights, first, j);
    const TwoRows keep = seen.add(scores, kScoreEights);
    sum.each(Eights, [&](int row, int, float& value) { value *= keep[row]; });
    add_weighted_rows(sum, scores, weighted, stage, 0, used, p.hides());
  }
  store_attended(sum, seen, p, values, logits.keys(), o, chunk, head, span);
}

/// Of 64 queries. Without grad_o there is no delta.
__global__ __launch_bounds__(kThreads) void statistics(Logits p, Rows v, Rows grad_o, Answers out) {
  DynamicShared memory;
  const int depth = depth_of(p.q.width()), width = grad_o.data ? depth_of(v.width()) : 0;
  const KeptTile q(memory, depth), grad(memory, width);
  const StagedTile k(memory, depth), value(memory, width);
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p, chunk.sequence, head);
  const Panel<Bf16> values(v, LogitsOf<Bf16>::whole(p.keys, chunk.sequence), head), given(grad_o, LogitsOf<Bf16>::whole(p.queries, chunk.sequence), head);
  const int begin = logits.keys_from(first), end = logits.keys_before(first + chunk.count);

  const auto fetch = [&](int j, int stage) {
    const int keys = end - j < kTile ? end - j : kTile;
    k.fill(stage, logits.k, j, keys);
    if (width != 0) value.fill(stage, values, j, keys);
  };
  if (begin < end) {
    q.fill(logits.q, first, chunk.count);
    if (width != 0) grad.fill(given, first, chunk.count);
    fetch(begin, 0);
  }

  Seen seen;
  TwoRows delta{0, 0};
  for (int j = begin, stage = 0; j < end; j += kTile, stage = 1 - stage) {
    wait_for_tiles_of_products();
    if (j + kTile < end) fetch(j + kTile, 1 - stage);
    Strip<Bf16, kScoreEights> scores, gradients;
    start_scores(scores, q, k, stage, depth);
    if (width != 0) {
      start_scores(gradients, grad, value, stage, width);
      warpgroup_wait<1>(scores.eights);
      warpgroup_wait(gradients.eights);
    } else {
      warpgroup_wait(scores.eights);
    }
    logits.of_products<Side::queries>(scores, kScoreEights, first, j);
    const TwoRows keep = seen.add(scores, kScoreEights);
    logits.by_weights<Side::queries>(gradients, kScoreEights, first, j);
    add_delta(delta, keep, scores, gradients, kScoreEights);
  }
  store_statistics(seen, delta, p, logits.keys(), out, chunk, head);
}

/// The answers of 64 rows of one side, in 8 * Eights columns. What they are sums of lies in shared memory for the scores or their gradients.
template <int Eights, Side side, Coefficient coefficient>
__global__ __launch_bounds__(kThreads) void sums(Sums p) {
  constexpr bool by_query = side == Side::queries, of_gradients = coefficient == Coefficient::logit_gradient;
  DynamicShared memory;
  const int depth = depth_of(p.logits.q.width()), width = depth_of(p.v.width());
  const KeptTile own(memory, depth), own_factor(memory, of_gradients ? width : 0);
  const StagedTile other(memory, of_gradients ? round_up(depth, 8 * Eights) : depth), other_factor(memory, of_gradients ? width : round_up(width, 8 * Eights));
  __shared__ Shared<float, kStages * kTile, kStatistics> known;
  __shared__ Shared<Columns, kWarps> used;
  const Chunk chunk = (by_query ? p.logits.queries : p.logits.keys).chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p.logits, chunk.sequence, head);
  const Chunk queries = LogitsOf<Bf16>::whole(p.logits.queries, chunk.sequence), keys = LogitsOf<Bf16>::whole(p.logits.keys, chunk.sequence);
  const Panel<Bf16> statistic(p.statistics, queries, head), values(p.v, keys, head), given(p.grad_o, queries, head);
  const Span span = span_of_block<Eights>(p.answers);
  const bool stores = of_gradients && by_query && p.grad_logits.data && blockIdx.y == 0;
  const int begin = !by_query ? logits.queries_from(first) / kTile * kTile : stores ? 0 : logits.keys_from(first);
  const int end = !by_query ? logits.queries_before(first + chunk.count) : stores ? keys.count : logits.keys_before(first + chunk.count);

  const auto fetch = [&](int t, int stage) {
    const int count = end - t < kTile ? end - t : kTile;
    other.fill(stage, by_query ? logits.k : logits.q, t, count);
    other_factor.fill(stage, by_query ? values : given, t, count);
    fill_known(known, statistic, by_query ? first : t, queries.count, stage * kTile);
  };
  if (begin < end) {
    own.fill(by_query ? logits.q : logits.k, first, chunk.count);
    if constexpr (of_gradients) own_factor.fill(by_query ? given : values, first, chunk.count);
    fetch(begin, 0);
  }

  Strip<Bf16, Eights> sum;
  for (int t = begin, stage = 0; t < end; t += kTile, stage = 1 - stage) {
    wait_for_tiles_of_products();
    if (t + kTile < end) fetch(t + kTile, 1 - stage);
    Strip<Bf16, kScoreEights> scores, gradients;
    start_scores(scores, own, other, stage, depth);
    if constexpr (of_gradients) {
      start_scores(gradients, own_factor, other_factor, stage, width);
      warpgroup_wait<1>(scores.eights);
      warpgroup_wait(gradients.eights);
    } else {
      warpgroup_wait(scores.eights);
    }
    to_coefficients<Similarity::exp_product, side, coefficient>(scores, gradients, kScoreEights, p.logits, logits, known, stage * kTile, chunk, t, NothingElse{});
    if (stores) store_logit_gradients<Bf16>(scores, kScoreEights, p.grad_logits, chunk, head, t, end - t < kTile ? end - t : kTile);
    add_weighted_rows(sum, scores, of_gradients ? other : other_factor, stage, span.first, used, by_query && p.logits.hides());
  }

  const Product answer{.answers = p.answers};
  sum.each(span.eights(), [&](int row, int x, float value) {
    const int r = strip_row() + row;
    if (r < chunk.count && x < span.columns) store_answer<Bf16>(answer, chunk, head, r, span.first + x, p.factor * value, 1);
  });
}

constexpr int kFew = 8, kMany = 16;  // eights of columns of answers in a block
constexpr std::size_t kRoom = (227 - 2) * 1024;

template <int Eights>
void launch_online(Call& call, const Logits& p, const Rows& v, const Answers& o) {
  const int depth = depth_of(p.q.width());
  call.launch(online<Eights>, {p.queries.slots(), divide_up(o.width, 8 * Eights), call.heads()}, kThreads, bytes_of(depth, depth + 8 * Eights), p, v, o);
}

template <Side side, Coefficient coefficient, int Eights>
void launch_sums(Call& call, const Sums& x) {
  const Sequences& tokens = side == Side::queries ? x.logits.queries : x.logits.keys;
  const int depth = depth_of(x.logits.q.width()), width = depth_of(x.v.width());
  const std::size_t bytes = coefficient == Coefficient::logit_gradient ? bytes_of(depth + width, round_up(depth, 8 * Eights) + width)
                                                                       : bytes_of(depth, depth + round_up(width, 8 * Eights));
  call.launch(sums<Eights, side, coefficient>, {tokens.slots(), divide_up(x.answers.width, 8 * Eights), call.heads()}, kThreads, bytes, x);
}

}  // namespace

bool attends_by_warpgroup(const Logits& p, int width) {
  const int depth = round_up(p.q.width(), 8 * kMany);
  return p.similarity == Similarity::exp_product && compute_capability() == 90 && bytes_of(depth + depth_of(width), depth + round_up(width, 8 * kMany)) <= kRoom;
}

void attend_by_warpgroup(Call& call, const Logits& p, const Rows& v, const Answers& o) {
  if (o.width <= 8 * kFew) launch_online<kFew>(call, p, v, o);
  else launch_online<kMany>(call, p, v, o);
}

void statistics_by_warpgroup(Call& call, const Logits& p, const Rows& v, const Rows& grad_o, const Answers& out) {
  const int depth = depth_of(p.q.width()), width = grad_o.data ? depth_of(v.width()) : 0;
  call.launch(statistics, {p.queries.slots(), 1, call.heads()}, kThreads, bytes_of(depth + width, depth + width), p, v, grad_o, out);
}

template <Side side, Coefficient coefficient>
void sums_by_warpgroup(Call& call, const Sums& x) {
  if (x.answers.width <= 8 * kFew) launch_sums<side, coefficient, kFew>(call, x);
  else launch_sums<side, coefficient, kMany>(call, x);
}
template void sums_by_warpgroup<Side::queries, Coefficient::weight>(Call&, const Sums&);
template void sums_by_warpgroup<Side::keys, Coefficient::weight>(Call&, const Sums&);
template void sums_by_warpgroup<Side::queries, Coefficient::logit_gradient>(Call&, const Sums&);
template void sums_by_warpgroup<Side::keys, Coefficient::logit_gradient>(Call&, const Sums&);

}  // namespace attest::cuda
