// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/products.hpp"
#include "attest/cuda/softmax_attention.hpp"

/// What a block of softmax attention does with tiles: the logits of 64 queries and keys, the running maximum and sum of each query, and
/// sums of rows by weights.

namespace attest::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kScoreEights = kTile / 8;

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

  /// From the product q_i . k_j: -inf where there is no such query or key, or the one does not see the other.
  __device__ float operator()(int i, int j, float product) const {
    const bool there = i < queries() && j < keys();
    if (!there || (logits_.causal && j - i > past()) || j < keys_from(i)) return -INFINITY;
    if (logits_.mask.data && !mask_[i * logits_.mask.place.row + j * logits_.mask.place.column]) return -INFINITY;
    if (logits_.slopes.data) {
      const int distance = i + past() - j, away = logits_.by_key ? -j : distance < 0 ? -distance : distance;
      return __fmaf_rn(logits_.scale, product, -slope_ * static_cast<float>(away));
    }
    if (logits_.factors.data) return product <= 0 ? 0.0f : logits_.scale * product * factor(kFactor, i, j);
    if (table_) product += table_[i * logits_.relative.scores.place.row + logits_.relative.row_of(i, j)];
    if (!logits_.bias.data) return logits_.scale * product;
    const float bias = bias_.raw(i, j);
    return bias == -INFINITY ? bias : __fmaf_rn(logits_.scale, product, bias);
  }

  /// The derivative of l_ij by scale q_i . k_j, where i sees j.
  __device__ float slope(int i, int j, float product) const { return !logits_.factors.data ? 1.0f : product > 0 ? factor(kFactor, i, j) : 0.0f; }
  /// The gradient of the weight a_ij, from the product grad_o_i . v_j.
  __device__ float by_weight(int i, int j, float product) const {
    return gradients_by_row_ && i < queries() ? product + gradients_by_row_[i * logits_.relative.gradients.place.row + logits_.relative.row_of(i, j)] : product;
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
  static __device__ const float* floats(const Rows& rows, int sequence, int head) {
    return rows.data ? static_cast<const float*>(rows.data) + rows.place.at(sequence, head, 0, 0) : nullptr;
  }
  __device__ int past() const { return keys() - queries() + logits_.query_offset; }
  __device__ bool bounded() const { return logits_.causal && logits_.empty_row != Logits::EmptyRow::mean; }

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

/// A number for each of the two rows of a strip that a lane has elements of.
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

/// The keys seen so far by the two rows of each lane: their maximum, and the sum of e^(l - maximum).
struct Seen {
  TwoRows maximum{-INFINITY, -INFINITY}, sum{0, 0};

  /// Logits become e^(l - maximum). Returned is what earlier sums are to be multiplied by.
  template <class Factor>
  __device__ __forceinline__ TwoRows add(Strip<Factor, kScoreEights>& logits, int eights) {
    TwoRows highest = maximum;
    logits.each(eights, [&](int row, int, float l) {
      if (row < 8) highest.top = fmaxf(highest.top, l);
      else highest.bottom = fmaxf(highest.bottom, l);
    });
    highest = highest.map(row_maximum);
    TwoRows added{0, 0};
    logits.each(eights, [&](int row, int, float& l) {
      l = exponential(l, highest[row]);
      if (row < 8) added.top += l;
      else added.bottom += l;
    });
    const TwoRows keep{exponential(maximum.top, highest.top), exponential(maximum.bottom, highest.bottom)};
    maximum = highest;
    sum = {__fmaf_rn(sum.top, keep.top, row_sum(added.top)), __fmaf_rn(sum.bottom, keep.bottom, row_sum(added.bottom))};
    return keep;
  }
};

/// A weight that is no exponential, from its logit, and its derivative.
__device__ inline float power(const Logits& p, float l) {
  const float x = l + p.offset;
  float y = x;
  for (int t = 1; t < p.power; ++t) y *= x;
  return l == -INFINITY ? 0.0f : y;
}
__device__ inline float derivative_of_power(const Logits& p, float l) {
  const float x = l + p.offset;
  float y = static_cast<float>(p.power);
  for (int t = 1; t < p.power; ++t) y *= x;
  return l == -INFINITY ? 0.0f : y;
}

/// Logits become weights that the sums of their rows have taken. Returned is what earlier sums are to be multiplied by.
template <Similarity similarity, class Factor>
__device__ __forceinline__ TwoRows weigh(const Logits& p, Seen& seen, Strip<Factor, kScoreEights>& logits, int eights) {
  if constexpr (similarity != Similarity::power) {
    return seen.add(logits, eights);
  } else {
    TwoRows added{0, 0};
    logits.each(eights, [&](int row, int, float& l) {
      l = power(p, l);
      if (row < 8) added.top += l;
      else added.bottom += l;
    });
    seen.sum = {seen.sum.top + row_sum(added.top), seen.sum.bottom + row_sum(added.bottom)};
    return {1, 1};
  }
}

/// scores(i, j) += a_i . b_j, or |a_i - b_j|^2: differences of what is large and close would be lost in products.
template <Similarity similarity, class T, class Factor>
__device__ __forceinline__ void add_similarities(Strip<Factor, kScoreEights>& scores, const Tiles<Factor>& tiles, const Panel<T>& a, const Panel<T>& b,
                                                 int first, int rows, int first_key, int keys) {
  if constexpr (similarity != Similarity::exp_distance) {
    add_scores<T, Factor>(scores, tiles, a, b, first, rows, first_key, keys);
  } else {
    each_depth<T, Factor>(tiles, a, b, first, rows, first_key, keys, [&](int depth, int eights) {
      for (int k = 0; k < depth; ++k)
        scores.each(eights, [&](int i, int j, float& sum) {
          const float difference = number(tiles.left, strip_row() + i, k) - number(tiles.right, j, k);
          sum = __fmaf_rn(difference, difference, sum);
        });
    });
  }
}

/// Which of 64 columns of the weights have one that is not 0, a word for each warp. What the others meet may be anything, NaN too, and
/// counts as 0.
using Columns = std::uint64_t;

/// Of this lane's weights.
template <class Factor>
__device__ __forceinline__ Columns columns_used(Strip<Factor, kScoreEights>& weights, int eights) {
  Columns used = 0;
  weights.each(eights, [&](int, int x, float weight) {
    if (weight < 0 || weight > 0) used |= Columns{1} << x;  // a weight that is NaN makes NaN of 0, too
  });
  return used;
}

/// This warp's rows of the tile of weights.
template <class Factor>
__device__ __forceinline__ Columns store_weights(Strip<Factor, kScoreEights>& weights, const Tiles<Factor>& tiles, int eights) {
  weights.each(eights, [&](int row, int x, float weight) { tiles.weights(strip_row() + row, x) = from_float<Stored<Factor>>(weight); });
  return columns_used(weights, eights);
}

/// words = the columns that any row of this warp's uses.
template <class Words>
__device__ __forceinline__ void tell_columns(Columns used, const Words& words) {
  for (int distance = 16; distance > 0; distance /= 2) used |= __shfl_xor_sync(kAllLanes, used, distance);
  if (lane() == 0) words(warp()) = used;
}
/// tile(r, begin + x) = 0 in rows that no warp uses.
template <class Tile, class Words>
__device__ __forceinline__ void clear_unused(const Tile& tile, const Words& words, int rows, int columns, int begin = 0) {
  Columns all = 0;
  for (int w = 0; w < kWarps; ++w) all |= static_cast<Columns>(words(w));
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += kThreads)
    if (!(all >> (i / columns) & 1)) tile(i / columns, begin + i % columns) = from_float<typename Tile::Value>(0.0f);
}

/// add(depth) where the weights meet `count` rows of `other` from `first` on, in a tile of its columns.
template <class T, class Factor, class Words, class Add>
__device__ __forceinline__ void with_values(const Tiles<Factor>& tiles, Columns used, const Words& words, bool hides, const Panel<T>& other, int first,
                                            int count, int rows, const Span& span, Add&& add) {
  const int padded = round_up(count, 16);
  if (hides) tell_columns(used, words);
  fill_values<T>(tiles.values, other, first, count, padded, span);
  wait_for_tiles();
  if (hides) {
    clear_unused(tiles.values, words, padded, 8 * span.eights());
    __syncthreads();
  }
  if (strip_is_in(rows)) add(padded);
  __syncthreads();
}

/// sum += weights other
template <class T, class Factor, class Words>
__device__ __forceinline__ void add_weighted(Strip<Factor, kEights>& sum, const Tiles<Factor>& tiles, Columns used, const Words& words, bool hides,
                                             const Panel<T>& other, int first, int count, int rows, const Span& span) {
  with_values<T>(tiles, used, words, hides, other, first, count, rows, span, [&](int depth) {
    sum.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.weights, strip_row()}, Right<typename Tiles<Factor>::Tile>{tiles.values, 0}, depth, span.eights());
  });
}

/// sum_r += sum_t weights_rt (other_t - own_r), own_r from `first_own` on. Where the weight is 0 either may be anything.
template <class T, class Factor, class Words>
__device__ __forceinline__ void add_weighted_differences(Strip<Factor, kEights>& sum, const Tiles<Factor>& tiles, Columns used, const Words& words,
                                                         bool hides, const Panel<T>& other, int first, int count, const Panel<T>& own, int first_own,
                                                         int rows, const Span& span) {
  fill<T>(tiles.left, own, first_own, rows, round_up(rows, 16), span.first, round_up(span.columns, 8));
  with_values<T>(tiles, used, words, hides, other, first, count, rows, span, [&](int depth) {
    for (int t = 0; t < depth; ++t)
      sum.each(span.eights(), [&](int r, int x, float& value) {
        const float weight = number(tiles.weights, strip_row() + r, t), difference = number(tiles.values, t, x) - number(tiles.left, strip_row() + r, x);
        if (weight != 0) value = __fmaf_rn(weight, difference, value);
      });
  });
}

/// The columns of answers in one of the tiles that cover them.
__device__ inline Span span_of(const Answers& answers) {
  const int tile = static_cast<int>(blockIdx.y);
  return {tile * kTile, wide_columns(tile, answers.width), false};
}

/// The mean of a column: what a query that sees nothing gets, where it is asked for.
template <class T>
__device__ float mean(const Panel<T>& v, int count, int column) {
  float sum = 0;
  for (int j = 0; j < count; ++j) sum += v(j, column);
  return __fdiv_rn(sum, static_cast<float>(count));
}

/// What this warp's queries get: weighted sums over the sum of the weights, or what the convention says where there are none.
template <class T, class Factor, int Eights>
__device__ __forceinline__ void store_attended(Strip<Factor, Eights>& sum, const Seen& seen, const Logits& p, const Panel<T>& values, int keys, const Answers& o,
                                               const Chunk& chunk, int head, const Span& span) {
  const Product answer{.answers = o};
  sum.each(span.eights(), [&](int row, int x, float value) {
    const int i = strip_row() + row;
    if (i >= chunk.count || x >= span.columns) return;
    if (seen.sum[row] != 0) value = __fdiv_rn(value, seen.sum[row]);
    else if (p.empty_row == Logits::EmptyRow::nan) value = __int_as_float(0x7fc00000);
    else if (p.empty_row == Logits::EmptyRow::mean) value = mean(values, keys, span.first + x);
    store_answer<T>(answer, chunk, head, i, span.first + x, value, 1);
  });
}

}  // namespace attest::cuda
