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

/// What the second pass needs of a query, in the columns of a row of statistics.
enum Statistic {
  kMaximum,  // of its logits
  kInverse,  // of the sum of e^(l - maximum); of one that sees nothing the weight of every key
  kDelta,    // sum of a_ij grad_o_i . v_j
  kStatistics
};

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
    TwoRows added{0, 0};
    scores.each_with(gradients, eights, [&](int row, int, float weight, float gradient) {
      const float term = weight == 0 ? 0.0f : weight * gradient;
      if (row < 8) added.top += term;
      else added.bottom += term;
    });
    delta = {__fmaf_rn(delta.top, keep.top, row_sum(added.top)), __fmaf_rn(delta.bottom, keep.bottom, row_sum(added.bottom))};
  }

  if (!strip_is_in(rows) || lane() % 4 != 0) return;
  const float empty = p.empty_row == Logits::EmptyRow::nan    ? __int_as_float(0x7fc00000)
                      : p.empty_row == Logits::EmptyRow::mean ? __fdiv_rn(1.0f, static_cast<float>(logits.keys()))
                                                              : 0.0f;
  for (int row = Accumulator::row(0); row < 16; row += 8) {
    const int i = strip_row() + row;
    if (i >= rows) continue;
    float* to = static_cast<float*>(out.data) + out.place.at(chunk.sequence, head, chunk.origin + first + i, 0);
    to[kMaximum] = seen.maximum[row];
    to[kInverse] = seen.sum[row] == 0 ? empty : __fdiv_rn(1.0f, seen.sum[row]);
    to[kDelta] = seen.sum[row] == 0 ? 0.0f : __fdiv_rn(delta[row], seen.sum[row]);
  }
}

/// What a block has the answers of, and what they are sums with.
enum class Side { queries, keys };
enum class Coefficient { weight, logit_gradient };

/// answer_r = factor sum_t c_rt other_t, where r are the rows of one side and t those of the other, and c_rt is a_ij or grad_l_ij.
struct Sums {
  Logits logits{};
  Rows statistics{};
  Rows v{}, grad_o{};  // for the gradients of the logits
  Rows other{};
  float factor = 1;
  Answers answers{};
  Answers grad_logits{};  // where there is data, they are stored too
};

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
  const Product answer{.answers = p.answers}, gradient_answer{.answers = p.grad_logits};

  Strip<Factor, kEights> sum;
  const int begin = by_query ? 0 : logits.queries_from(first) / kTile * kTile;
  const int end = !by_query ? queries.count : stores ? keys.count : logits.keys_before(first + rows);
  for (int t = begin; t < end; t += kTile) {
    const int count = end - t < kTile ? end - t : kTile, eights = round_up(count, 16) / 8, first_query = by_query ? first : t;
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kStatistics; i += kThreads) {
      const int query = i / kStatistics, x = i % kStatistics;
      known(query, x) = first_query + query < queries.count ? statistic.raw(first_query + query, x) : 0.0f;
    }
    Strip<Factor, kScoreEights> scores, gradients;
    add_scores<T, Factor>(scores, tiles, by_query ? logits.q : logits.k, by_query ? logits.k : logits.q, first, rows, t, count);
    if constexpr (of_gradients) add_scores<T, Factor>(gradients, tiles, by_query ? given : values, by_query ? values : given, first, rows, t, count);
    Columns mine = 0;
    if (strip_is_in(rows)) {
      scores.each_with(gradients, eights, [&](int row, int x, float& score, float gradient) {
        const int r = strip_row() + row, query = by_query ? r : x;
        const int i = first_query + query, j = by_query ? t + x : first + r;
        const float l = logits(i, j, score), maximum = known(query, kMaximum), inverse = known(query, kInverse);
        if constexpr (of_gradients) {
          score = l == -INFINITY ? 0.0f : exponential(l, maximum) * inverse * (gradient - known(query, kDelta));
          if (stores && r < rows && x < count) store_answer<T>(gradient_answer, chunk, head, r, j, score, 1);
        } else {
          score = maximum == -INFINITY ? inverse : exponential(l, maximum) * inverse;
        }
      });
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
  call.launch(statistics<T, Factor>, {logits.queries.slots(), 1, call.heads()}, kThreads, Tiles<Factor>::bytes, logits, v, grad_o, out);
  return read_back(out);
}

template <class T, class Factor, Side side, Coefficient coefficient>
void sum_up(Call& call, const Sums& x) {
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
    if (attends_by_warpgroup(logits)) return attend_by_warpgroup(call, logits, v, o);
  call.launch(online<T, Factor>, grid_of(call, logits.queries, o), kThreads, Tiles<Factor>::bytes, logits, v, o);
}

template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const Answers& o) {
  const Rows known = statistics_of<T, Factor>(call, logits, v, {});
  sum_up<T, Factor, Side::queries, Coefficient::weight>(call, {.logits = logits, .statistics = known, .other = v, .answers = o});
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
