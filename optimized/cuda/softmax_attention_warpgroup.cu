// SPDX-License-Identifier: MIT
// Softmax attention by products of warpgroups, online, and the statistics of its queries.
#include "attest/cuda/warpgroup_tiles.hpp"

namespace attest::cuda {
namespace {

/// The outputs of 64 queries, in 8 * Fragments columns.
template <int Fragments, Terms terms>
__global__ __launch_bounds__(kThreads) void online(Logits p, Rows v, OutputRows o) {
  DynamicShared memory;
  const int depth = depth_of(p.q.width());
  const KeptTile q(memory, depth);
  const StagedTile k(memory, depth), weighted(memory, 8 * Fragments);
  __shared__ Shared<ColumnMask, kWarps> used;
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p, chunk.sequence, head);
  const Panel<Bf16> values(v, LogitsOf<Bf16>::whole(p.keys, chunk.sequence), head);
  const Span span = span_of_block<Fragments>(o);
  const int end = logits.keys_before(first + chunk.count),
            begin = next_seen<Side::queries, terms>(logits, first, logits.keys_from(first), end);

  const auto fetch = [&](int j, int stage) {
    const int keys = end - j < kTile ? end - j : kTile;
    k.fill(stage, logits.k, j, keys);
    weighted.fill(stage, values, j, keys, span.first);
  };
  if (begin < end) {
    q.fill(logits.q, first, chunk.count);
    fetch(begin, 0);
  }

  Strip<Bf16, Fragments> sum;
  RunningSoftmax running;
  for (int j = begin, next = 0, stage = 0; j < end; j = next, stage = 1 - stage) {
    wait_for_tiles_of_products();
    next = next_seen<Side::queries, terms>(logits, first, j + kTile, end);
    if (next < end) fetch(next, 1 - stage);

    Strip<Bf16, kScoreFragments> scores;
    start_scores(scores, q, k, stage, depth);
    warpgroup_wait(scores.fragments);
    logits.of_products<Side::queries, Similarity::exp_product, terms>(scores, kScoreFragments, first, j);
    const TwoRows rescale = running.add(scores, kScoreFragments);
    sum.each(Fragments, [&](int row, int, float& value) { value *= rescale[row]; });
    add_weighted_rows(sum, scores, weighted, stage, 0, used, terms != Terms::none && p.hides());
  }
  store_attended(sum, running, p, values, logits.keys(), o, chunk, head, span);
}

/// The statistics of 64 queries. Without grad_o delta is not computed.
template <Terms terms>
__global__ __launch_bounds__(kThreads) void statistics(Logits p, Rows v, Rows grad_o, OutputRows out) {
  DynamicShared memory;
  const int depth = depth_of(p.q.width()), width = grad_o.data ? depth_of(v.width()) : 0;
  const KeptTile q(memory, depth), grad(memory, width);
  const StagedTile k(memory, depth), value(memory, width);
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first);
  const LogitsOf<Bf16> logits(p, chunk.sequence, head);
  const Panel<Bf16> values(v, LogitsOf<Bf16>::whole(p.keys, chunk.sequence), head),
      cotangent(grad_o, LogitsOf<Bf16>::whole(p.queries, chunk.sequence), head);
  const int end = logits.keys_before(first + chunk.count),
            begin = next_seen<Side::queries, terms>(logits, first, logits.keys_from(first), end);

  const auto fetch = [&](int j, int stage) {
    const int keys = end - j < kTile ? end - j : kTile;
    k.fill(stage, logits.k, j, keys);
    if (width != 0) value.fill(stage, values, j, keys);
  };
  if (begin < end) {
    q.fill(logits.q, first, chunk.count);
    if (width != 0) grad.fill(cotangent, first, chunk.count);
    fetch(begin, 0);
  }

  RunningSoftmax running;
  TwoRows delta{0, 0};
  for (int j = begin, next = 0, stage = 0; j < end; j = next, stage = 1 - stage) {
    wait_for_tiles_of_products();
    next = next_seen<Side::queries, terms>(logits, first, j + kTile, end);
    if (next < end) fetch(next, 1 - stage);
    Strip<Bf16, kScoreFragments> scores, gradients;
    start_scores(scores, q, k, stage, depth);
    if (width != 0) {
      start_scores(gradients, grad, value, stage, width);
      warpgroup_wait<1>(scores.fragments);
      warpgroup_wait(gradients.fragments);
    } else {
      warpgroup_wait(scores.fragments);
    }
    logits.of_products<Side::queries, Similarity::exp_product, terms>(scores, kScoreFragments, first, j);
    const TwoRows rescale = running.add(scores, kScoreFragments);
    if (terms == Terms::any) logits.add_relative_gradients<Side::queries>(gradients, kScoreFragments, first, j);
    add_delta(delta, rescale, scores, gradients, kScoreFragments);
  }
  store_statistics(running, delta, p, logits.keys(), out, chunk, head);
}

template <int Fragments>
void launch_online(Call& call, const Logits& p, const Rows& v, const OutputRows& o) {
  const int depth = depth_of(p.q.width());
  with_terms(p, false, [&]<Terms terms>() {
    call.launch(online<Fragments, terms>, {p.queries.slots(), divide_up(o.width, 8 * Fragments), call.heads()},
                kThreads, bytes_of(depth, depth + 8 * Fragments), p, v, o);
  });
}

}  // namespace

bool attends_by_warpgroup(const Logits& p, int width) {
  const int depth = round_up(p.q.width(), 8 * kWideBlock);
  return p.similarity == Similarity::exp_product && compute_capability() == 90 &&
         bytes_of(depth + depth_of(width), depth + round_up(width, 8 * kWideBlock)) <= kSharedBytes;
}

void attend_by_warpgroup(Call& call, const Logits& p, const Rows& v, const OutputRows& o) {
  if (o.width <= 8 * kNarrowBlock)
    launch_online<kNarrowBlock>(call, p, v, o);
  else
    launch_online<kWideBlock>(call, p, v, o);
}

void statistics_by_warpgroup(Call& call, const Logits& p, const Rows& v, const Rows& grad_o, const OutputRows& out) {
  const int depth = depth_of(p.q.width()), width = grad_o.data ? depth_of(v.width()) : 0;
  with_terms(p, false, [&]<Terms terms>() {
    call.launch(statistics<terms>, {p.queries.slots(), 1, call.heads()}, kThreads,
                bytes_of(depth + width, depth + width), p, v, grad_o, out);
  });
}

}  // namespace attest::cuda
