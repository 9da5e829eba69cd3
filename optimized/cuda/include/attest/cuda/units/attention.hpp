// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/attention_passes.hpp"

/// The passes of attention: over keys online, over keys for the statistics of each query, and over one side for the
/// sums that outputs and gradients are. Every sum has one order and one owner.

namespace attest::cuda {
namespace passes {

/// The outputs of 64 queries, in the columns of one tile.
template <class T, class Factor, Similarity similarity>
__global__ __launch_bounds__(kThreads, 1) void online(Logits p, Rows v, OutputRows o) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  __shared__ Shared<ColumnMask, kWarps> used;
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p, chunk.sequence, head);
  const Panel<T> values(v, LogitsOf<T>::whole(p.keys, chunk.sequence), head);
  const Span span = span_of(o);

  Strip<Factor, kFragments> sum;
  RunningSoftmax running;
  for (int j = logits.keys_from(first), end = logits.keys_before(first + rows); j < end; j += kTile) {
    if (!logits.sees_tile(first, j)) continue;
    const int keys = end - j < kTile ? end - j : kTile, fragments = round_up(keys, 16) / 8;
    Strip<Factor, kScoreFragments> scores;
    add_similarities<similarity, T, Factor>(scores, tiles, logits.q, logits.k, first, rows, j, keys);
    ColumnMask mine = 0;
    if (strip_is_in(rows)) {
      logits.template of_products<Side::queries, similarity>(scores, fragments, first, j);
      const TwoRows rescale = to_weights<similarity>(p, running, scores, fragments);
      sum.each(span.fragments(), [&](int row, int, float& value) { value *= rescale[row]; });
      mine = store_weights(scores, tiles, fragments);
    }
    add_weighted<T, Factor>(sum, tiles, mine, used, p.hides(), values, j, keys, rows, span);
  }

  if (strip_is_in(rows)) store_attended(sum, running, p, values, logits.keys(), o, chunk, head, span);
}

/// The statistics of 64 queries. Without grad_o delta is not computed.
template <class T, class Factor, Similarity similarity>
__global__ __launch_bounds__(kThreads, 1) void statistics(Logits p, Rows v, Rows grad_o, OutputRows out) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const Chunk chunk = p.queries.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p, chunk.sequence, head);
  const Panel<T> values(v, LogitsOf<T>::whole(p.keys, chunk.sequence), head),
      cotangent(grad_o, LogitsOf<T>::whole(p.queries, chunk.sequence), head);

  RunningSoftmax running;
  TwoRows delta{0, 0};
  for (int j = logits.keys_from(first), end = logits.keys_before(first + rows); j < end; j += kTile) {
    if (!logits.sees_tile(first, j)) continue;
    const int keys = end - j < kTile ? end - j : kTile, fragments = round_up(keys, 16) / 8;
    Strip<Factor, kScoreFragments> scores, gradients;
    add_similarities<similarity, T, Factor>(scores, tiles, logits.q, logits.k, first, rows, j, keys);
    if (grad_o.data) add_scores<T, Factor>(gradients, tiles, cotangent, values, first, rows, j, keys);
    if (!strip_is_in(rows)) continue;
    logits.template of_products<Side::queries, similarity>(scores, fragments, first, j);
    logits.template add_relative_gradients<Side::queries>(gradients, fragments, first, j);
    const TwoRows rescale = to_weights<similarity>(p, running, scores, fragments);
    add_delta(delta, rescale, scores, gradients, fragments);
  }

  if (strip_is_in(rows)) store_statistics(running, delta, p, logits.keys(), out, chunk, head);
}

/// Sums over the keys of a query beside those of the output columns, taken by block (x, 0, z): two for each of a lane's
/// rows.
template <class T>
class ExtraSums {
public:
  __device__ ExtraSums(const Sums& p, const LogitsOf<T>& logits, const Chunk& chunk, int head)
      : p_(p), logits_(logits), chunk_(chunk), head_(head), wanted_(blockIdx.y == 0) {
    const Relative& relative = p.logits.relative;
    if (wanted_ && p.by_row.data) {  // a row between the ends has one key, or none
      for (int at = static_cast<int>(threadIdx.x); at < chunk.count * p.by_row.width; at += kThreads) {
        const int i = at / p.by_row.width, row = at % p.by_row.width,
                  key = static_cast<int>(chunk.first) + i + relative.offset + row - relative.c;
        if (key < 0 || key >= logits.keys()) *to(p.by_row, i, row) = 0;
      }
      __syncthreads();
    }
  }

  /// Of query i and key j, in a row of the strip: the coefficient, and the logit.
  __device__ __forceinline__ void add(int row, int i, int j, float coefficient, float l) {
    if (!wanted_ || i >= logits_.queries() || j >= logits_.keys()) return;
    if (p_.of_factors.data) {
      const float by_factor = coefficient * l;  // by ln f
      add(row, by_factor * logits_.factor(LogitsOf<T>::kByFirst, i, j),
          by_factor * logits_.factor(LogitsOf<T>::kBySecond, i, j));
      return;
    }
    const int table_row = p_.logits.relative.row_of(i, j);
    if (table_row == 0)
      add(row, coefficient, 0);
    else if (table_row == p_.by_row.width - 1)
      add(row, 0, coefficient);
    else
      *to(p_.by_row, i - static_cast<int>(chunk_.first), table_row) = coefficient;
  }

  /// By the warps that have rows.
  __device__ __forceinline__ void store(int rows) {
    if (!wanted_) return;
    first_ = first_.map(row_sum);
    second_ = second_.map(row_sum);
    if (lane() % 4 != 0) return;
    const OutputRows& output = p_.of_factors.data ? p_.of_factors : p_.by_row;
    for (int row = Accumulator::row(0); row < 16; row += 8) {
      const int i = strip_row() + row;
      if (i >= rows) continue;
      *to(output, i, 0) = first_[row];
      if (output.width > 1) *to(output, i, output.width - 1) = second_[row];
    }
  }

private:
  __device__ __forceinline__ void add(int row, float first, float second) {
    if (row < 8) {
      first_.top += first;
      second_.top += second;
    } else {
      first_.bottom += first;
      second_.bottom += second;
    }
  }
  __device__ float* to(const OutputRows& output, int i, int column) const {
    return static_cast<float*>(output.data) +
           output.place.at(chunk_.sequence, head_, chunk_.origin + chunk_.first + i, column);
  }

  const Sums& p_;
  const LogitsOf<T>& logits_;
  const Chunk& chunk_;
  int head_;
  bool wanted_;
  TwoRows first_{0, 0}, second_{0, 0};
};

template <class T, class Factor, Similarity similarity, Side side, Coefficient coefficient, class Extra>
__global__ __launch_bounds__(kThreads, 1) void sums(Sums p) {
  constexpr bool by_query = side == Side::queries, of_gradients = coefficient == Coefficient::logit_gradient;
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  __shared__ Shared<float, kTile, kStatistics> statistics_tile;
  __shared__ Shared<ColumnMask, kWarps> used;
  const Chunk chunk = (by_query ? p.logits.queries : p.logits.keys).chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(chunk.first), rows = chunk.count;
  const LogitsOf<T> logits(p.logits, chunk.sequence, head);
  const Chunk queries = LogitsOf<T>::whole(p.logits.queries, chunk.sequence),
              keys = LogitsOf<T>::whole(p.logits.keys, chunk.sequence);
  const Panel<T> statistic(p.statistics, queries, head), values(p.v, keys, head), cotangent(p.grad_o, queries, head);
  const Panel<T> other(p.other, by_query ? keys : queries, head);
  const Span span = span_of(p.output);
  const bool stores =
      similarity == Similarity::exp_product && of_gradients && by_query && p.grad_logits.data && blockIdx.y == 0;
  const bool whole = stores || p.by_row.data;  // every key has a number of its own to be written
  constexpr bool sloped = similarity == Similarity::power && of_gradients;

  Extra extra(p, logits, chunk, head);
  Strip<Factor, kFragments> sum;
  const int begin = !by_query ? logits.queries_from(first) / kTile * kTile : stores ? 0 : logits.keys_from(first);
  const int end = !by_query ? logits.queries_before(first + rows)
                  : stores  ? keys.count
                            : logits.keys_before(first + rows);
  for (int t = begin; t < end; t += kTile) {
    if (!whole && !logits.sees_tile(by_query ? first : t, by_query ? t : first)) continue;
    const int count = end - t < kTile ? end - t : kTile, fragments = round_up(count, 16) / 8;
    fill_statistics(statistics_tile, statistic, by_query ? first : t, queries.count);
    Strip<Factor, kScoreFragments> scores, gradients;
    add_similarities<similarity, T, Factor>(scores, tiles, by_query ? logits.q : logits.k,
                                            by_query ? logits.k : logits.q, first, rows, t, count);
    if constexpr (of_gradients)
      add_scores<T, Factor>(gradients, tiles, by_query ? cotangent : values, by_query ? values : cotangent, first, rows,
                            t, count);
    ColumnMask mine = 0;
    if (strip_is_in(rows)) {
      to_coefficients<similarity, side, coefficient>(scores, gradients, fragments, p.logits, logits, statistics_tile, 0,
                                                     chunk, t, extra);
      if (stores) store_logit_gradients<T>(scores, fragments, p.grad_logits, chunk, head, t, count);
      mine = store_weights(scores, tiles, fragments);
    }
    const bool hides = by_query && p.logits.hides();
    if constexpr (similarity == Similarity::exp_distance && of_gradients)
      add_weighted_differences<T, Factor>(sum, tiles, mine, used, hides, other, t, count,
                                          by_query ? logits.q : logits.k, first, rows, span);
    else
      add_weighted<T, Factor>(sum, tiles, mine, used, hides, other, t, count, rows, span);
  }

  if (strip_is_in(rows)) extra.store(rows);
  if constexpr (sloped) {
    const Product of_sums{.output = p.output, .sloped = by_query ? p.logits.q : p.logits.k};
    const Epilogue<T> epilogue(of_sums, chunk, head);
    each_by_rows(sum, tiles, rows, span.columns, [&](int r) {
      return [=, &p, &epilogue](int x, float value) { epilogue.store(r, span.first + x, p.factor * value); };
    });
  } else {
    if (!strip_is_in(rows)) return;
    const StripOutput<T> output(p.output, chunk, head, span.first);
    sum.each(span.fragments(), [&](int row, int x, float value) {
      if (strip_row() + row < rows && x < span.columns) output.store(row, x, p.factor * value);
    });
  }
}

/// Blocks for every chunk of tokens, tile of columns and head.
inline Grid grid_of(const Call& call, const Sequences& tokens, const OutputRows& output) {
  return {tokens.slots(), wide_tiles(output.width), call.heads()};
}

template <class T, class Factor, Similarity similarity>
void attend(Call& call, const Logits& logits, const Rows& v, const OutputRows& o) {
  call.launch(online<T, Factor, similarity>, grid_of(call, logits.queries, o), kThreads, Tiles<Factor>::bytes, logits,
              v, o);
}

template <class T, class Factor, Similarity similarity>
Rows statistics_of(Call& call, const Logits& logits, const Rows& v, const Rows& grad_o) {
  const OutputRows out = call.workspace_rows(logits.queries, kStatistics);
  if constexpr (std::is_same_v<T, __nv_bfloat16> && similarity == Similarity::exp_product) {
    if (attends_by_warpgroup(logits, v.width())) {
      statistics_by_warpgroup(call, logits, v, grad_o, out);
      return read_back(out);
    }
  }
  call.launch(statistics<T, Factor, similarity>, {logits.queries.slots(), 1, call.heads()}, kThreads,
              Tiles<Factor>::bytes, logits, v, grad_o, out);
  return read_back(out);
}

template <class T, class Factor, Similarity similarity, Side side, Coefficient coefficient>
void sum_up(Call& call, const Sums& x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16> && similarity == Similarity::exp_product)
    if (attends_by_warpgroup(x.logits, x.v.width()) && !x.by_row.data && !x.of_factors.data)
      return sums_by_warpgroup<side, coefficient>(call, x);
  const Sequences& tokens = side == Side::queries ? x.logits.queries : x.logits.keys;
  const auto launch = [&](auto kernel) {
    call.launch(kernel, grid_of(call, tokens, x.output), kThreads, Tiles<Factor>::bytes, x);
  };
  if constexpr (side == Side::queries && similarity == Similarity::exp_product)
    if (x.by_row.data || x.of_factors.data) return launch(sums<T, Factor, similarity, side, coefficient, ExtraSums<T>>);
  launch(sums<T, Factor, similarity, side, coefficient, NoExtraSums>);
}

}  // namespace passes

}  // namespace attest::cuda

// Softmax has two or three kernels in a unit; the other similarities, which have fewer options, all five.
#define ATTEST_CUDA_SUMS(T, Factor, similarity, side, coefficient)                                             \
  template void passes::sum_up<T, Factor, Similarity::similarity, Side::side, Coefficient::coefficient>(Call&, \
                                                                                                        const Sums&);
#define ATTEST_CUDA_STATISTICS(T, Factor, similarity)                                                       \
  template void passes::attend<T, Factor, Similarity::similarity>(Call&, const Logits&, const Rows&,        \
                                                                  const OutputRows&);                       \
  template Rows passes::statistics_of<T, Factor, Similarity::similarity>(Call&, const Logits&, const Rows&, \
                                                                         const Rows&);
#define ATTEST_CUDA_BACKWARD(T, Factor, similarity)             \
  ATTEST_CUDA_SUMS(T, Factor, similarity, keys, weight)         \
  ATTEST_CUDA_SUMS(T, Factor, similarity, keys, logit_gradient) \
  ATTEST_CUDA_SUMS(T, Factor, similarity, queries, logit_gradient)

#define ATTEST_CUDA_UNIT_softmax(T, Factor) ATTEST_CUDA_STATISTICS(T, Factor, exp_product)
#define ATTEST_CUDA_UNIT_softmax_weights_over_keys(T, Factor) ATTEST_CUDA_SUMS(T, Factor, exp_product, queries, weight)
#define ATTEST_CUDA_UNIT_softmax_gradients_over_keys(T, Factor) \
  ATTEST_CUDA_SUMS(T, Factor, exp_product, queries, logit_gradient)
#define ATTEST_CUDA_UNIT_softmax_over_queries(T, Factor) \
  ATTEST_CUDA_SUMS(T, Factor, exp_product, keys, weight) \
  ATTEST_CUDA_SUMS(T, Factor, exp_product, keys, logit_gradient)
#define ATTEST_CUDA_UNIT_power(T, Factor)  \
  ATTEST_CUDA_STATISTICS(T, Factor, power) \
  ATTEST_CUDA_BACKWARD(T, Factor, power)
#define ATTEST_CUDA_UNIT_distance(T)             \
  ATTEST_CUDA_STATISTICS(T, float, exp_distance) \
  ATTEST_CUDA_BACKWARD(T, float, exp_distance)
