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
    if (!there || (logits_.causal && j - i > past())) return -INFINITY;
    if (logits_.mask.data && !mask_[i * logits_.mask.place.row + j * logits_.mask.place.column]) return -INFINITY;
    if (!logits_.bias.data) return logits_.scale * product;
    const float bias = bias_.raw(i, j);
    return bias == -INFINITY ? bias : __fmaf_rn(logits_.scale, product, bias);
  }

  /// No query before `end` sees a key from here on. A mean over all keys is one over all keys.
  __device__ int keys_before(int end) const {
    const int seen = end + past();
    return bounded() && seen < keys() ? (seen < 0 ? 0 : seen) : keys();
  }
  /// No query before this one sees a key from `begin` on.
  __device__ int queries_from(int begin) const { return bounded() && begin > past() ? begin - past() : 0; }

private:
  __device__ int past() const { return keys() - queries(); }
  __device__ bool bounded() const { return logits_.causal && logits_.empty_row != Logits::EmptyRow::mean; }

  const Logits& logits_;
  Chunk queries_, keys_;
  const std::uint8_t* mask_;
  Panel<T> bias_;

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

/// sum += weights other, for `count` rows of `other` from `first` on, in a tile of its columns.
template <class T, class Factor, class Words>
__device__ __forceinline__ void add_weighted(Strip<Factor, kEights>& sum, const Tiles<Factor>& tiles, Columns used, const Words& words, bool hides,
                                             const Panel<T>& other, int first, int count, int rows, const Span& span) {
  const int padded = round_up(count, 16);
  if (hides) tell_columns(used, words);
  fill_values<T>(tiles.values, other, first, count, padded, span);
  wait_for_tiles();
  if (hides) {
    clear_unused(tiles.values, words, padded, 8 * span.eights());
    __syncthreads();
  }
  if (strip_is_in(rows))
    sum.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.weights, strip_row()}, Right<typename Tiles<Factor>::Tile>{tiles.values, 0}, padded, span.eights());
  __syncthreads();
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
