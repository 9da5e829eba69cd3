// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/products.hpp"
#include "attest/cuda/softmax_attention.hpp"

/// Tile operations of softmax attention: the logits of 64 queries and 64 keys, the running maximum and sum of each
/// query, and weighted sums of rows.

namespace attest::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kScoreFragments = kTile / 8;

/// `Side`: whether a block's rows of output are queries or keys. `Coefficient`: whether its sums are weighted by
/// attention weights or by gradients of logits.
enum class Side { queries, keys };
enum class Coefficient { weight, logit_gradient };

/// The logits of one sequence and head. Rows of q and k count from the sequence's first.
template <class T>
class LogitsOf {
public:
  __device__ LogitsOf(const Logits& logits, int sequence, int head)
      : logits_(logits),
        queries_(whole(logits.queries, sequence)),
        keys_(whole(logits.keys, sequence)),
        mask_(static_cast<const std::uint8_t*>(logits.mask.data) + logits.mask.place.at(sequence, head, 0, 0)),
        bias_(logits.bias, queries_, head),
        slope_(logits.slopes.data ? Panel<T>(logits.slopes, queries_, head).raw(0, 0) : 0.0f),
        table_(floats(logits.factors.data ? logits.factors : logits.relative.scores, sequence, head)),
        gradients_by_row_(floats(logits.relative.gradients, sequence, head)),
        q(logits.q, queries_, head),
        k(logits.k, keys_, head) {}

  static __device__ Chunk whole(const Sequences& tokens, int sequence) {
    return {sequence, tokens.origin_of(sequence), 0, static_cast<int>(tokens.length_of(sequence))};
  }
  __device__ int queries() const { return queries_.count; }
  __device__ int keys() const { return keys_.count; }

  /// This warp's products q_i . k_j become logits: -inf where query or key does not exist, or the query does not see
  /// the key. `first` is row 0 of the block's own side, `t` that of the other. Options of the call are tested once for
  /// all elements: tested for each element, a strip would hold the code of every combination.
  template <Side side, Similarity similarity, class Factor>
  __device__ __forceinline__ void of_products(Strip<Factor, kTile / 8>& scores, int fragments, int first, int t) const {
    const auto each = [&](auto&& change) { each_of<side>(scores, fragments, first, t, change); };
    if constexpr (similarity != Similarity::exp_product) {
      each([&](int, int, float& l) { l *= logits_.scale; });
    } else if (logits_.slopes.data) {
      each([&](int i, int j, float& l) {
        const int distance = i + past() - j, away = logits_.by_key ? -j : distance < 0 ? -distance : distance;
        l = __fmaf_rn(logits_.scale, l, -slope_ * static_cast<float>(away));
      });
    } else if (logits_.factors.data) {
      each([&](int i, int j, float& l) {
        l = l <= 0 || !in_range(i, j) ? 0.0f : logits_.scale * l * factor(kFactor, i, j);
      });
    } else {
      if (table_)
        each([&](int i, int j, float& l) {
          if (in_range(i, j)) l += table_[i * logits_.relative.scores.place.row + logits_.relative.row_of(i, j)];
        });
      if (logits_.bias.data)
        each([&](int i, int j, float& l) {
          const float bias = in_range(i, j) ? bias_.raw(i, j) : -INFINITY;
          l = bias == -INFINITY ? bias : __fmaf_rn(logits_.scale, l, bias);
        });
      else
        each([&](int, int, float& l) { l *= logits_.scale; });
    }
    if (logits_.mask.data)
      each([&](int i, int j, float& l) {
        if (in_range(i, j) && !mask_[i * logits_.mask.place.row + j * logits_.mask.place.column]) l = -INFINITY;
      });
    if (similarity == Similarity::exp_product && logits_.segment)
      each([&](int i, int j, float& l) {
        if (j < keys_from(i)) l = -INFINITY;
      });
    const int ahead = logits_.causal ? past() : keys();
    each([&](int i, int j, float& l) {
      if (!in_range(i, j) || j - i > ahead) l = -INFINITY;
    });
  }

  /// This warp's products grad_o_i . v_j become the gradients of the weights: the gradients by relative position are
  /// added.
  template <Side side, class Factor>
  __device__ __forceinline__ void add_relative_gradients(Strip<Factor, kTile / 8>& products, int fragments, int first,
                                                         int t) const {
    if (!gradients_by_row_) return;
    each_of<side>(products, fragments, first, t, [&](int i, int j, float& product) {
      if (in_range(i, j))
        product += gradients_by_row_[i * logits_.relative.gradients.place.row + logits_.relative.row_of(i, j)];
    });
  }

  /// The derivative of l_ij by scale q_i . k_j, where i sees j; where a product is not positive the logit is 0.
  __device__ float slope(int i, int j, float l) const {
    return !logits_.factors.data ? 1.0f : l != 0 && l != -INFINITY ? factor(kFactor, i, j) : 0.0f;
  }

  enum FactorRow { kFactor, kByFirst, kBySecond };  // f, and the derivatives of ln f
  __device__ float factor(FactorRow row, int i, int j) const {
    return table_[row * logits_.factors.place.row + (i < j ? j - i : i - j)];
  }

  /// No query before `end` sees a key from here on. A mean over all keys is one over all keys.
  __device__ int keys_before(int end) const {
    const int seen = end + past();
    return bounded() && seen < keys() ? (seen < 0 ? 0 : seen) : keys();
  }
  /// No query from `begin` on sees a key before this one.
  __device__ int keys_from(int begin) const { return logits_.segment ? begin / logits_.segment * logits_.segment : 0; }
  /// No query before this one sees a key from `begin` on.
  __device__ int queries_from(int begin) const { return bounded() && begin > past() ? begin - past() : 0; }
  /// No query from here on sees a key before `end`.
  __device__ int queries_before(int end) const {
    const Index segments = logits_.segment ? divide_up(end, logits_.segment) * logits_.segment : queries();
    return segments < queries() ? static_cast<int>(segments) : queries();
  }

private:
  template <Side side, class Factor, class Change>
  static __device__ __forceinline__ void each_of(Strip<Factor, kTile / 8>& strip, int fragments, int first, int t,
                                                 Change&& change) {
    strip.each(fragments, [&](int row, int x, float& value) {
      const int own = first + strip_row() + row, other = t + x;
      if constexpr (side == Side::queries)
        change(own, other, value);
      else
        change(other, own, value);
    });
  }
  __device__ bool in_range(int i, int j) const { return i < queries() && j < keys(); }
  static __device__ const float* floats(const Rows& rows, int sequence, int head) {
    return rows.data ? static_cast<const float*>(rows.data) + rows.place.at(sequence, head, 0, 0) : nullptr;
  }
  __device__ int past() const { return keys() - queries() + logits_.query_offset; }
  __device__ bool bounded() const { return logits_.causal && logits_.empty_row != EmptyRow::mean; }

  const Logits& logits_;
  Chunk queries_, keys_;
  const std::uint8_t* mask_;
  Panel<T> bias_;
  float slope_;
  const float* table_;  // of factors, or of scores by row
  const float* gradients_by_row_;

public:
  Panel<T> q, k;
};

/// One number for each of the two rows of a strip in which a lane has elements.
struct TwoRows {
  float top, bottom;

  __device__ float operator[](int row) const { return row < 8 ? top : bottom; }
  /// With `f` applied to both.
  template <class F>
  __device__ __forceinline__ TwoRows map(F&& f) const {
    return {f(top), f(bottom)};
  }
};

/// Over the four lanes that share a row.
__device__ inline float row_maximum(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

/// e^(l - maximum), and 0 where l is -inf: the maximum may be, too.
__device__ inline float exponential(float l, float maximum) { return l == -INFINITY ? 0.0f : expf(l - maximum); }

/// Online softmax of the two rows of each lane over the keys so far: running maximum, and running sum of e^(l -
/// maximum).
struct RunningSoftmax {
  TwoRows maximum{-INFINITY, -INFINITY}, sum{0, 0};

  /// Logits become e^(l - maximum). Returns the factor by which earlier sums must be rescaled.
  template <class Factor>
  __device__ __forceinline__ TwoRows add(Strip<Factor, kScoreFragments>& logits, int fragments) {
    TwoRows highest = maximum;
    logits.each(fragments, [&](int row, int, float l) {
      if (row < 8)
        highest.top = fmaxf(highest.top, l);
      else
        highest.bottom = fmaxf(highest.bottom, l);
    });
    highest = highest.map(row_maximum);
    TwoRows added{0, 0};
    logits.each(fragments, [&](int row, int, float& l) {
      l = exponential(l, highest[row]);
      if (row < 8)
        added.top += l;
      else
        added.bottom += l;
    });
    const TwoRows rescale{exponential(maximum.top, highest.top), exponential(maximum.bottom, highest.bottom)};
    maximum = highest;
    sum = {__fmaf_rn(sum.top, rescale.top, row_sum(added.top)),
           __fmaf_rn(sum.bottom, rescale.bottom, row_sum(added.bottom))};
    return rescale;
  }
};

/// factor x^n: a weight that is no exponential, from its logit, and its derivative. Called and not inlined: a strip has
/// many elements.
__attribute__((noinline)) __device__ inline float times_power(float factor, float x, int n) {
#pragma unroll 1
  for (int t = 0; t < n; ++t) factor *= x;
  return factor;
}
__device__ inline float power(const Logits& p, float l) {
  return l == -INFINITY ? 0.0f : times_power(l + p.offset, l + p.offset, p.power - 1);
}
__device__ inline float derivative_of_power(const Logits& p, float l) {
  return l == -INFINITY ? 0.0f : times_power(static_cast<float>(p.power), l + p.offset, p.power - 1);
}

/// Logits become weights, which are added to the running sums of their rows. Returns the factor by which earlier sums
/// must be rescaled.
template <Similarity similarity, class Factor>
__device__ __forceinline__ TwoRows to_weights(const Logits& p, RunningSoftmax& running,
                                              Strip<Factor, kScoreFragments>& logits, int fragments) {
  if constexpr (similarity != Similarity::power) {
    return running.add(logits, fragments);
  } else {
    TwoRows added{0, 0};
    logits.each(fragments, [&](int row, int, float& l) {
      l = power(p, l);
      if (row < 8)
        added.top += l;
      else
        added.bottom += l;
    });
    running.sum = {running.sum.top + row_sum(added.top), running.sum.bottom + row_sum(added.bottom)};
    return {1, 1};
  }
}

/// scores(i, j) += a_i . b_j, or |a_i - b_j|^2: differences of what is large and close would be lost in products.
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
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += kThreads)
    if (!(all >> (i / columns) & 1)) tile(i / columns, begin + i % columns) = from_float<typename Tile::Value>(0.0f);
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
  return __fdiv_rn(sum, static_cast<float>(count));
}

/// The epilogue of this warp's queries: weighted sums divided by the sum of weights; rows without a visible key follow
/// the convention `empty_row`.
template <class T, class Factor, int Fragments>
__device__ __forceinline__ void store_attended(Strip<Factor, Fragments>& sum, const RunningSoftmax& running,
                                               const Logits& p, const Panel<T>& values, int keys, const OutputRows& o,
                                               const Chunk& chunk, int head, const Span& span) {
  const Product epilogue{.output = o};
  const bool averages = p.empty_row == EmptyRow::mean;
  sum.each(span.fragments(), [&](int row, int x, float value) {
    const int i = strip_row() + row;
    if (i >= chunk.count || x >= span.columns || (averages && running.sum[row] == 0)) return;
    if (running.sum[row] != 0)
      value = __fdiv_rn(value, running.sum[row]);
    else if (p.empty_row == EmptyRow::nan)
      value = __int_as_float(0x7fc00000);
    store_output<T>(epilogue, chunk, head, i, span.first + x, value, 1);
  });
  if (!averages) return;
  for (int row = Accumulator::row(0); row < 16; row += 8) {
    const int i = strip_row() + row;
    if (i >= chunk.count || running.sum[row] != 0) continue;
#pragma unroll 1
    for (int x = lane() % 4; x < span.columns; x += 4)
      store_output<T>(epilogue, chunk, head, i, span.first + x, mean(values, keys, span.first + x), 1);
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

// The passes of bf16 tensors by products of warpgroups: where the device has them (Hopper), and room in its shared
// memory for values of `width`.
bool attends_by_warpgroup(const Logits& logits, int width);
void attend_by_warpgroup(Call& call, const Logits& logits, const Rows& v, const OutputRows& o);
void statistics_by_warpgroup(Call& call, const Logits& logits, const Rows& v, const Rows& grad_o,
                             const OutputRows& out);
/// Where `other` is what the scores, or their gradients, are products with.
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
template <Similarity similarity, Side side, Coefficient coefficient, class T, class Factor, class Tile, class Extra>
__device__ __forceinline__ void to_coefficients(Strip<Factor, kScoreFragments>& scores,
                                                Strip<Factor, kScoreFragments>& gradients, int fragments,
                                                const Logits& p, const LogitsOf<T>& logits, const Tile& statistics_tile,
                                                int statistics_row, const Chunk& chunk, int t, Extra&& extra) {
  constexpr bool by_query = side == Side::queries, is_power = similarity == Similarity::power;
  const int first = static_cast<int>(chunk.first);
  logits.template of_products<side, similarity>(scores, fragments, first, t);
  if constexpr (similarity == Similarity::exp_product && coefficient == Coefficient::logit_gradient)
    logits.template add_relative_gradients<side>(gradients, fragments, first, t);
  scores.each_with(gradients, fragments, [&](int row, int x, float& score, float gradient) {
    const int r = strip_row() + row, query = statistics_row + (by_query ? r : x);
    const int i = by_query ? first + r : t + x, j = by_query ? t + x : first + r;
    const float l = score, maximum = statistics_tile(query, kMaximum), inverse = statistics_tile(query, kInverse);
    float c;
    if constexpr (coefficient == Coefficient::logit_gradient) {
      const float derivative = is_power ? derivative_of_power(p, l) : exponential(l, maximum);
      c = l == -INFINITY ? 0.0f : derivative * inverse * (gradient - statistics_tile(query, kDelta));
    } else if constexpr (is_power) {
      c = power(p, l) * inverse;
    } else {
      c = maximum == -INFINITY ? inverse : exponential(l, maximum) * inverse;
    }
    if constexpr (by_query) extra.add(row, i, j, c, l);
    score = similarity == Similarity::exp_product && coefficient == Coefficient::logit_gradient
                ? c * logits.slope(i, j, l)
                : c;
  });
}
/// The gradients of this warp's logits, for `count` keys from t on.
template <class T, class Factor>
__device__ __forceinline__ void store_logit_gradients(Strip<Factor, kScoreFragments>& gradients, int fragments,
                                                      const OutputRows& to, const Chunk& chunk, int head, int t,
                                                      int count) {
  const Product epilogue{.output = to};
  gradients.each(fragments, [&](int row, int x, float gradient) {
    const int r = strip_row() + row;
    if (r < chunk.count && x < count) store_output<T>(epilogue, chunk, head, r, t + x, gradient, 1);
  });
}

}  // namespace attest::cuda
