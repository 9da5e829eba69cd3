// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/warpgroup_tiles.hpp"

/// The sums that outputs and gradients of softmax attention consist of, by products of warpgroups.

namespace attest::cuda {
namespace {

/// The output of 64 rows of one side, in 8 * Fragments columns. The summed rows are already in shared memory for the
/// scores or their gradients.
template <int Fragments, Side side, Coefficient coefficient, Terms terms>
__global__ __launch_bounds__(kThreads) void sums(Sums p) {
  constexpr bool by_query = side == Side::queries, of_gradients = coefficient == Coefficient::logit_gradient;
  DynamicShared memory;
  const int depth = depth_of(p.logits.q.width()), width = depth_of(p.v.width());
  const KeptTile own(memory, depth), own_factor(memory, of_gradients ? width : 0);
  const StagedTile other(memory, of_gradients ? round_up(depth, 8 * Fragments) : depth),
      other_factor(memory, of_gradients ? width : round_up(width, 8 * Fragments));
  __shared__ Shared<float, kStages * kTile, kStatistics> statistics_tile;
  __shared__ Shared<ColumnMask, kWarps> used;
  const Chunk chunk = (by_query ? p.logits.queries : p.logits.keys).chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p.logits, chunk.sequence, head);
  const Chunk queries = LogitsOf<Bf16>::whole(p.logits.queries, chunk.sequence),
              keys = LogitsOf<Bf16>::whole(p.logits.keys, chunk.sequence);
  const Panel<Bf16> statistic(p.statistics, queries, head), values(p.v, keys, head), cotangent(p.grad_o, queries, head);
  const Span span = span_of_block<Fragments>(p.output);
  const bool stores = terms == Terms::any && of_gradients && by_query && p.grad_logits.data && blockIdx.y == 0;
  const int start = !by_query ? logits.queries_from(first) / kTile * kTile : stores ? 0 : logits.keys_from(first);
  const int end = !by_query ? logits.queries_before(first + chunk.count)
                  : stores  ? keys.count
                            : logits.keys_before(first + chunk.count);

  const auto from = [&](int t) { return stores ? t : next_seen<side, terms>(logits, first, t, end); };
  const int begin = from(start);

  const auto fetch = [&](int t, int stage) {
    const int count = end - t < kTile ? end - t : kTile;
    other.fill(stage, by_query ? logits.k : logits.q, t, count);
    other_factor.fill(stage, by_query ? values : cotangent, t, count);
    fill_statistics(statistics_tile, statistic, by_query ? first : t, queries.count, stage * kTile);
  };
  if (begin < end) {
    own.fill(by_query ? logits.q : logits.k, first, chunk.count);
    if constexpr (of_gradients) own_factor.fill(by_query ? cotangent : values, first, chunk.count);
    fetch(begin, 0);
  }

  Strip<Bf16, Fragments> sum;
  for (int t = begin, next = 0, stage = 0; t < end; t = next, stage = 1 - stage) {
    wait_for_tiles_of_products();
    next = from(t + kTile);
    if (next < end) fetch(next, 1 - stage);
    Strip<Bf16, kScoreFragments> scores, gradients;
    start_scores(scores, own, other, stage, depth);
    if constexpr (of_gradients) {
      start_scores(gradients, own_factor, other_factor, stage, width);
      warpgroup_wait<1>(scores.fragments);
      warpgroup_wait(gradients.fragments);
    } else {
      warpgroup_wait(scores.fragments);
    }
    to_coefficients<Similarity::exp_product, side, coefficient, terms>(
        scores, gradients, kScoreFragments, p.logits, logits, statistics_tile, stage * kTile, chunk, t, NoExtraSums{});
    if (stores)
      store_logit_gradients<Bf16>(scores, kScoreFragments, p.grad_logits, chunk, head, t,
                                  end - t < kTile ? end - t : kTile);
    add_weighted_rows(sum, scores, of_gradients ? other : other_factor, stage, span.first, used,
                      terms != Terms::none && by_query && p.logits.hides());
  }

  const StripOutput<Bf16> output(p.output, chunk, head, span.first);
  sum.each(span.fragments(), [&](int row, int x, float value) {
    if (strip_row() + row < chunk.count && x < span.columns) output.store(row, x, p.factor * value);
  });
}

template <Side side, Coefficient coefficient, Terms terms, int Fragments>
void launch_sums(Call& call, const Sums& x) {
  const Sequences& tokens = side == Side::queries ? x.logits.queries : x.logits.keys;
  const int depth = depth_of(x.logits.q.width()), width = depth_of(x.v.width());
  const std::size_t bytes = coefficient == Coefficient::logit_gradient
                                ? bytes_of(depth + width, round_up(depth, 8 * Fragments) + width)
                                : bytes_of(depth, depth + round_up(width, 8 * Fragments));
  call.launch(sums<Fragments, side, coefficient, terms>,
              {tokens.slots(), divide_up(x.output.width, 8 * Fragments), call.heads()}, kThreads, bytes, x);
}

}  // namespace

template <Side side, Coefficient coefficient>
void sums_by_warpgroup(Call& call, const Sums& x) {
  with_terms(x.logits, x.grad_logits.data != nullptr, [&]<Terms terms>() {
    // Gradients of logits of any terms have no registers left for 128 columns.
    if constexpr (coefficient == Coefficient::weight || terms != Terms::any)
      if (x.output.width > 8 * kNarrowBlock) return launch_sums<side, coefficient, terms, kWideBlock>(call, x);
    launch_sums<side, coefficient, terms, kNarrowBlock>(call, x);
  });
}

}  // namespace attest::cuda

#define ATTEST_CUDA_UNIT_sums_over_keys()                                                  \
  template void sums_by_warpgroup<Side::queries, Coefficient::weight>(Call&, const Sums&); \
  template void sums_by_warpgroup<Side::queries, Coefficient::logit_gradient>(Call&, const Sums&);
#define ATTEST_CUDA_UNIT_sums_over_queries()                                            \
  template void sums_by_warpgroup<Side::keys, Coefficient::weight>(Call&, const Sums&); \
  template void sums_by_warpgroup<Side::keys, Coefficient::logit_gradient>(Call&, const Sums&);
