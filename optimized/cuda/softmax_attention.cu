// SPDX-License-Identifier: MIT
// Softmax attention: the online pass over keys, and the two passes that the gradients need: statistics of each query, then sums over one
// side of the weights or of the gradients of the logits. Every sum has one order and one owner.
#include "attest/cuda/softmax_attention.hpp"

#include "attest/cuda/attended.hpp"

namespace attest::cuda {
namespace {

/// The outputs of 64 queries, in the columns of one tile.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads) void online(Logits p, Rows v, Answers o) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  __shared__ Shared<Columns, kWarps> used;
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p, chunk.sequence, head);
  const Panel<T> values(v, LogitsOf<T>::whole(p.keys, chunk.sequence), head);
  const Span span = span_of(o);

  Strip<Factor, kEights> sum;
  Seen seen;
  for (int j = 0, end = logits.keys_before(first + rows); j < end; j += kTile) {
    const int keys = end - j < kTile ? end - j : kTile, eights = round_up(keys, 16) / 8;
    Strip<Factor, kScoreEights> scores;
    add_scores<T, Factor>(scores, tiles, logits.q, logits.k, first, rows, j, keys);
    Columns mine = 0;
    if (strip_is_in(rows)) {
      scores.each(eights, [&](int row, int x, float& score) { score = logits(first + strip_row() + row, j + x, score); });
      const TwoRows keep = seen.add(scores, eights);
      sum.each(span.eights(), [&](int row, int, float& value) { value *= keep[row]; });
      mine = store_weights(scores, tiles, eights);
    }
    add_weighted<T, Factor>(sum, tiles, mine, used, p.hides(), values, j, keys, rows, span);
  }

  if (strip_is_in(rows)) store_attended(sum, seen, p, values, logits.keys(), o, chunk, head, span);
}

/// Of 64 queries. Without grad_o there is no delta.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads) void statistics(Logits p, Rows v, Rows grad_o, Answers out) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p, chunk.sequence, head);
  const Panel<T> values(v, LogitsOf<T>::whole(p.keys, chunk.sequence), head), given(grad_o, LogitsOf<T>::whole(p.queries, chunk.sequence), head);

  Seen seen;
  TwoRows delta{0, 0};
  for (int j = 0, end = logits.keys_before(first + rows); j < end; j += kTile) {
    const int keys = end - j < kTile ? end - j : kTile, eights = round_up(keys, 16) / 8;
    Strip<Factor, kScoreEights> scores, gradients;
    add_scores<T, Factor>(scores, tiles, logits.q, logits.k, first, rows, j, keys);
    if (grad_o.data) add_scores<T, Factor>(gradients, tiles, given, values, first, rows, j, keys);
    if (!strip_is_in(rows)) continue;
    scores.each(eights, [&](int row, int x, float& score) { score = logits(first + strip_row() + row, j + x, score); });
    const TwoRows keep = seen.add(scores, eights);
    add_delta(delta, keep, scores, gradients, eights);
  }

  if (strip_is_in(rows)) store_statistics(seen, delta, p, logits.keys(), out, chunk, head);
}

template <class T, class Factor, Side side, Coefficient coefficient>
__global__ __launch_bounds__(kThreads) void sums(Sums p) {
  constexpr bool by_query = side == Side::queries, of_gradients = coefficient == Coefficient::logit_gradient;
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  __shared__ Shared<float, kTile, kStatistics> known;
  __shared__ Shared<Columns, kWarps> used;
  const Chunk chunk = (by_query ? p.logits.queries : p.logits.keys).chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p.logits, chunk.sequence, head);
  const Chunk queries = LogitsOf<T>::whole(p.logits.queries, chunk.sequence), keys = LogitsOf<T>::whole(p.logits.keys, chunk.sequence);
  const Panel<T> statistic(p.statistics, queries, head), values(p.v, keys, head), given(p.grad_o, queries, head);
  const Panel<T> other(p.other, by_query ? keys : queries, head);
  const Span span = span_of(p.answers);
  const bool stores = of_gradients && by_query && p.grad_logits.data && blockIdx.y == 0;
  const Product answer{.answers = p.answers};

  Strip<Factor, kEights> sum;
  const int begin = by_query ? 0 : logits.queries_from(first) / kTile * kTile;
  const int end = !by_query ? queries.count : stores ? keys.count : logits.keys_before(first + rows);
  for (int t = begin; t < end; t += kTile) {
    const int count = end - t < kTile ? end - t : kTile, eights = round_up(count, 16) / 8;
    fill_known(known, statistic, by_query ? first : t, queries.count);
    Strip<Factor, kScoreEights> scores, gradients;
    add_scores<T, Factor>(scores, tiles, by_query ? logits.q : logits.k, by_query ? logits.k : logits.q, first, rows, t, count);
    if constexpr (of_gradients) add_scores<T, Factor>(gradients, tiles, by_query ? given : values, by_query ? values : given, first, rows, t, count);
    Columns mine = 0;
    if (strip_is_in(rows)) {
      to_coefficients<side, coefficient>(scores, gradients, eights, logits, known, 0, chunk, t);
      if (stores) store_logit_gradients<T>(scores, eights, p.grad_logits, chunk, head, t, count);
      mine = store_weights(scores, tiles, eights);
    }
    add_weighted<T, Factor>(sum, tiles, mine, used, by_query && p.logits.hides(), other, t, count, rows, span);
  }

  if (!strip_is_in(rows)) return;
  sum.each(span.eights(), [&](int row, int x, float value) {
    const int r = strip_row() + row;
    if (r < rows && x < span.columns) store_answer<T>(answer, chunk, head, r, span.first + x, p.factor * value, 1);
  });
}

/// Blocks for every chunk of tokens, tile of columns and head.
Grid grid_of(const Call& call, const Sequences& tokens, const Answers& answers) { return {tokens.slots(), wide_tiles(answers.width), call.heads()}; }

template <class T, class Factor>
Rows statistics_of(Call& call, const Logits& logits, const Rows& v, const Rows& grad_o) {
  const Answers out = call.workspace_rows(logits.queries, kStatistics);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (attends_by_warpgroup(logits, v.width())) {
      statistics_by_warpgroup(call, logits, v, grad_o, out);
      return read_back(out);
    }
  }
  call.launch(statistics<T, Factor>, {logits.queries.slots(), 1, call.heads()}, kThreads, Tiles<Factor>::bytes, logits, v, grad_o, out);
  return read_back(out);
}

template <class T, class Factor, Side side, Coefficient coefficient>
void sum_up(Call& call, const Sums& x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    if (attends_by_warpgroup(x.logits, x.v.width())) return sums_by_warpgroup<side, coefficient>(call, x);
  const Sequences& tokens = side == Side::queries ? x.logits.queries : x.logits.keys;
  call.launch(sums<T, Factor, side, coefficient>, grid_of(call, tokens, x.answers), kThreads, Tiles<Factor>::bytes, x);
}

}  // namespace

Logits logits_of(const Call& call, Logits::EmptyRow empty_row) {
  const Rows q = call.rows("q");
  return {.q = q,
          .k = call.rows("k"),
          .queries = call.sequences("n", "q", kTile),
          .keys = call.sequences("s", "k", kTile),
          .scale = static_cast<float>(call.real("scale", 1 / std::sqrt(static_cast<double>(q.stored)))),
          .causal = call.integer("causal") != 0,
          .mask = call.rows("mask"),
          .bias = call.rows("bias"),
          .empty_row = empty_row};
}

template <class T, class Factor>
void attend_online(Call& call, const Logits& logits, const Rows& v, const Answers& o) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    if (attends_by_warpgroup(logits, v.width())) return attend_by_warpgroup(call, logits, v, o);
  call.launch(online<T, Factor>, grid_of(call, logits.queries, o), kThreads, Tiles<Factor>::bytes, logits, v, o);
}

template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const Answers& o) {
  const Rows known = statistics_of<T, Factor>(call, logits, v, {});
  sum_up<T, Factor, Side::queries, Coefficient::weight>(call, {.logits = logits, .statistics = known, .v = v, .other = v, .answers = o});
}

template <class T, class Factor>
void attend_backward(Call& call, const Logits& logits, const AttentionBackward& x) {
  Sums p{.logits = logits, .statistics = statistics_of<T, Factor>(call, logits, x.v, x.grad_o), .v = x.v, .grad_o = x.grad_o};
  p.other = x.grad_o;
  p.answers = x.grad_v;
  sum_up<T, Factor, Side::keys, Coefficient::weight>(call, p);
  p.factor = logits.scale;
  p.other = logits.q;
  p.answers = x.grad_k;
  sum_up<T, Factor, Side::keys, Coefficient::logit_gradient>(call, p);
  p.other = logits.k;
  p.answers = x.grad_q;
  p.grad_logits = x.grad_logits;
  sum_up<T, Factor, Side::queries, Coefficient::logit_gradient>(call, p);
}

#define ATTEST_CUDA_INSTANTIATE(T, Factor)                                                               \
  template void attend_online<T, Factor>(Call&, const Logits&, const Rows&, const Answers&);             \
  template void attend_from_statistics<T, Factor>(Call&, const Logits&, const Rows&, const Answers&);    \
  template void attend_backward<T, Factor>(Call&, const Logits&, const AttentionBackward&);
ATTEST_CUDA_FORMATS(ATTEST_CUDA_INSTANTIATE)

}  // namespace attest::cuda
