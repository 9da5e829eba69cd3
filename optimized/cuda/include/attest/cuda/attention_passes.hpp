// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/weighted_rows.hpp"

/// The passes of softmax attention: epilogues of outputs and statistics, the coefficients of the second pass, and the
/// host functions that launch each pass.

namespace attest::cuda {

/// The output columns of this block's tile.
__device__ inline Span span_of(const OutputRows& output) {
  const int tile = static_cast<int>(blockIdx.y);
  return {tile * kTile, wide_columns(tile, output.width), false};
}

/// The mean of a column: the output of a query without a visible key where empty_row is mean.
template <class T>
__device__ float mean(const Panel<T>& v, int count, int column) {
  float sum = 0;
  for (int j = 0; j < count; ++j) sum += v(j, column);
  return sum * reciprocal(static_cast<float>(count));
}

/// The rows of a strip in the output, whose places are found once: element x of a row is in column `column` + x.
template <class T>
class StripOutput {
public:
  __device__ StripOutput(const OutputRows& to, const Chunk& chunk, int head, int column)
      : to_(to),
        top_(to.place.at(chunk.sequence, head, chunk.origin + chunk.first + strip_row() + Accumulator::row(0), column)),
        bottom_(top_ + 8 * to.place.row) {}
  __device__ __forceinline__ void store(int row, int x, float value) const {
    to_.template store<T>((row < 8 ? top_ : bottom_) + x * to_.place.column, value);
  }

private:
  const OutputRows& to_;
  Index top_, bottom_;
};

/// The epilogue of this warp's queries: weighted sums divided by the sum of weights; rows without a visible key follow
/// the convention `empty_row`.
template <class T, class Factor, int Fragments>
__device__ __forceinline__ void store_attended(Strip<Factor, Fragments>& sum, const RunningSoftmax& running,
                                               const Logits& p, const Panel<T>& values, int keys, const OutputRows& o,
                                               const Chunk& chunk, int head, const Span& span) {
  const StripOutput<T> output(o, chunk, head, span.first);
  const bool averages = p.empty_row == EmptyRow::mean;
  const Division division{.wanted = true, .nan_of_zero = p.empty_row == EmptyRow::nan};
  const Divisor top(division, running.sum.top), bottom(division, running.sum.bottom);
  sum.each(span.fragments(), [&](int row, int x, float value) {
    const int i = strip_row() + row;
    if (i >= chunk.count || x >= span.columns || (averages && running.sum[row] == 0)) return;
    output.store(row, x, row < 8 ? top.quotient(value) : bottom.quotient(value));
  });
  if (!averages) return;
  for (int row = Accumulator::row(0); row < 16; row += 8) {
    const int i = strip_row() + row;
    if (i >= chunk.count || running.sum[row] != 0) continue;
#pragma unroll 1
    for (int x = lane() % 4; x < span.columns; x += 4) output.store(row, x, mean(values, keys, span.first + x));
  }
}

/// Columns of a row of statistics: what the second pass reads for a query.
enum Statistic {
  kMaximum,  // of its logits
  kInverse,  // of the sum of e^(l - maximum); of one that sees nothing the weight of every key
  kDelta,    // sum of a_ij grad_o_i . v_j
  kStatistics
};

/// delta += sum_j w_ij grad_a_ij, from weights and from their gradients; earlier sums are multiplied by `rescale`.
template <class Factor>
__device__ __forceinline__ void add_delta(TwoRows& delta, const TwoRows& rescale,
                                          Strip<Factor, kScoreFragments>& weights,
                                          const Strip<Factor, kScoreFragments>& gradients, int fragments) {
  TwoRows added{0, 0};
  weights.each_with(gradients, fragments, [&](int row, int, float weight, float gradient) {
    const float term = weight == 0 ? 0.0f : weight * gradient;
    if (row < 8)
      added.top += term;
    else
      added.bottom += term;
  });
  delta = {__fmaf_rn(delta.top, rescale.top, row_sum(added.top)),
           __fmaf_rn(delta.bottom, rescale.bottom, row_sum(added.bottom))};
}

/// Of this warp's queries.
__device__ inline void store_statistics(const RunningSoftmax& running, const TwoRows& delta, const Logits& p, int keys,
                                        const OutputRows& out, const Chunk& chunk, int head) {
  if (lane() % 4 != 0) return;
  const float empty = p.empty_row == EmptyRow::nan    ? __int_as_float(0x7fc00000)
                      : p.empty_row == EmptyRow::mean ? __fdiv_rn(1.0f, static_cast<float>(keys))
                                                      : 0.0f;
  for (int row = Accumulator::row(0); row < 16; row += 8) {
    const int i = strip_row() + row;
    if (i >= chunk.count) continue;
    float* to = static_cast<float*>(out.data) + out.place.at(chunk.sequence, head, chunk.origin + chunk.first + i, 0);
    to[kMaximum] = running.maximum[row];
    to[kInverse] = running.sum[row] == 0 ? empty : __fdiv_rn(1.0f, running.sum[row]);
    to[kDelta] = running.sum[row] == 0 ? 0.0f : __fdiv_rn(delta[row], running.sum[row]);
  }
}
/// statistics_tile(row + i, .) = the statistics of query first + i, zeros where there is none.
template <class T, class Tile>
__device__ void fill_statistics(const Tile& statistics_tile, const Panel<T>& statistic, int first, int queries,
                                int row = 0) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kStatistics; i += kThreads) {
    const int query = i / kStatistics, x = i % kStatistics;
    statistics_tile(row + query, x) = first + query < queries ? statistic.raw(first + query, x) : 0.0f;
  }
}

/// output_r = factor sum_t c_rt other_t, where r are the rows of one side and t those of the other, and c_rt is a_ij or
/// grad_l_ij.
struct Sums {
  Logits logits{};
  Rows statistics{};
  Rows v{}, grad_o{};  // for the gradients of the logits
  Rows other{};
  float factor = 1;
  OutputRows output{};
  OutputRows grad_logits{};  // where there is data, they are stored too
  OutputRows by_row{};       // ... and the coefficients of a query's keys summed for each relative row
  OutputRows of_factors{};   // ... and the gradients by the two numbers that the factors depend on
};

namespace passes {  // units/attention.hpp

template <class T, class Factor, Similarity similarity>
void attend(Call& call, const Logits& logits, const Rows& v, const OutputRows& o);
template <class T, class Factor, Similarity similarity>
Rows statistics_of(Call& call, const Logits& logits, const Rows& v, const Rows& grad_o);
template <class T, class Factor, Similarity similarity, Side side, Coefficient coefficient>
void sum_up(Call& call, const Sums& sums);

}  // namespace passes

// The passes of bf16 tensors by products of warpgroups: where the device has them (Hopper), and space in its shared
// memory for values of `width`.
bool attends_by_warpgroup(const Logits& logits, int width);
void attend_by_warpgroup(Call& call, const Logits& logits, const Rows& v, const OutputRows& o);
void statistics_by_warpgroup(Call& call, const Logits& logits, const Rows& v, const Rows& grad_o,
                             const OutputRows& out);
/// For sums over the rows that the scores, or their gradients, are products with.
template <Side side, Coefficient coefficient>
void sums_by_warpgroup(Call& call, const Sums& sums);

/// The default of to_coefficients' `extra`: no sums beside those of the columns.
struct NoExtraSums {
  template <class... Places>
  __device__ explicit NoExtraSums(const Places&...) {}
  __device__ void add(int, int, int, float, float) const {}
  __device__ void store(int) const {}
};

/// Products q_i . k_j, and those of grad_o_i . v_j, become c: this warp's rows of the chunk, and the other side's from
/// t on. The queries' statistics begin in row `statistics_row`. `extra` is called with (row of the strip, i, j, c_ij,
/// l_ij) for a query's keys.
template <Similarity similarity, Side side, Coefficient coefficient, Terms terms = Terms::any, class T, class Factor,
          class Tile, class Extra>
__device__ __forceinline__ void to_coefficients(Strip<Factor, kScoreFragments>& scores,
                                                Strip<Factor, kScoreFragments>& gradients, int fragments,
                                                const Logits& p, const LogitsOf<T>& logits, const Tile& statistics_tile,
                                                int statistics_row, const Chunk& chunk, int t, Extra&& extra) {
  constexpr bool by_query = side == Side::queries, is_power = similarity == Similarity::power;
  const int first = static_cast<int>(chunk.first);
  logits.template of_products<side, similarity, terms>(scores, fragments, first, t);
  constexpr bool of_any =
      terms == Terms::any && similarity == Similarity::exp_product && coefficient == Coefficient::logit_gradient;
  if constexpr (of_any) logits.template add_relative_gradients<side>(gradients, fragments, first, t);
  scores.each_with(gradients, fragments, [&](int row, int x, float& score, float gradient) {
    const int r = strip_row() + row, query = statistics_row + (by_query ? r : x);
    const int i = by_query ? first + r : t + x, j = by_query ? t + x : first + r;
    const float l = score, maximum = statistics_tile(query, kMaximum), inverse = statistics_tile(query, kInverse);
    float c;
    if constexpr (coefficient == Coefficient::logit_gradient) {
      const float derivative = is_power ? derivative_of_power(p, l) : exponential<Factor>(l, maximum);
      c = l == -INFINITY ? 0.0f : derivative * inverse * (gradient - statistics_tile(query, kDelta));
    } else if constexpr (is_power) {
      c = power(p, l) * inverse;
    } else {
      c = maximum == -INFINITY ? inverse : exponential<Factor>(l, maximum) * inverse;
    }
    if constexpr (by_query) extra.add(row, i, j, c, l);
    score = of_any ? c * logits.slope(i, j, l) : c;
  });
}
/// The gradients of this warp's logits, for `count` keys from t on.
template <class T, class Factor>
__device__ __forceinline__ void store_logit_gradients(Strip<Factor, kScoreFragments>& gradients, int fragments,
                                                      const OutputRows& to, const Chunk& chunk, int head, int t,
                                                      int count) {
  const StripOutput<T> output(to, chunk, head, t);
  gradients.each(fragments, [&](int row, int x, float gradient) {
    if (strip_row() + row < chunk.count && x < count) output.store(row, x, gradient);
  });
}

}  // namespace attest::cuda
