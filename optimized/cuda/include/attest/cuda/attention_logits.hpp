// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/products.hpp"
#include "attest/cuda/softmax_attention.hpp"

/// The logits of a block of 64 queries and 64 keys: scale, bias, position terms, masks and causal order.

namespace attest::cuda {

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
        words_(logits.seen.words ? logits.seen.words_of(sequence, head) : nullptr),
        tiles_(logits.seen.words ? logits.seen.tiles_of(sequence, head) : nullptr),
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
  /// all elements: tested for each element, a strip would hold the code of every combination. There are no other terms
  /// than `terms`.
  template <Side side, Similarity similarity, Terms terms = Terms::any, class Factor>
  __device__ __forceinline__ void of_products(Strip<Factor, kTile / 8>& scores, int fragments, int first, int t) const {
    const auto each = [&](auto&& change) { each_of<side>(scores, fragments, first, t, change); };
    if constexpr (similarity != Similarity::exp_product || terms != Terms::any) {
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
    if (terms != Terms::none && words_) hide<side>(scores, fragments, first, t);
    if (terms == Terms::any && similarity == Similarity::exp_product && logits_.segment)
      each([&](int i, int j, float& l) {
        if (j < keys_from(i)) l = -INFINITY;
      });
    const int ahead = logits_.causal ? past() : keys();
    const int query = side == Side::queries ? first : t, key = side == Side::queries ? t : first;
    if (query + kTile <= queries() && key + kTile <= keys() && key + kTile - 1 - query <= ahead) return;
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

  /// Whether a query of the tile from i on may see a key of the tile from j on. The first keys count as seen where
  /// queries without a visible key get NaN: sums that meet no key at all are 0.
  __device__ bool sees_tile(int i, int j) const {
    return !tiles_ || logits_.empty_row == EmptyRow::mean || (logits_.empty_row == EmptyRow::nan && j < kTile) ||
           tiles_[i / kTile * logits_.seen.key_tiles + j / kTile];
  }

  /// No query before `end` sees a key from here on. A mean over all keys is one over all keys.
  __device__ int keys_before(int end) const {
    const int seen = end + past();
    const int fewest = logits_.empty_row == EmptyRow::nan && keys() > 0 ? 1 : 0;
    return bounded() && seen < keys() ? (seen < fewest ? fewest : seen) : keys();
  }
  /// No query from `begin` on sees a key before this one.
  __device__ int keys_from(int begin) const { return logits_.segment ? begin / logits_.segment * logits_.segment : 0; }
  /// No query before this one sees a key from `begin` on.
  __device__ int queries_from(int begin) const { return bounded() && begin > past() ? begin - past() : 0; }
  /// No query from here on sees a key before `end`.
  __device__ int queries_before(int end) const {
    const Index segments = logits_.segment ? ((end - 1) / logits_.segment + Index{1}) * logits_.segment : queries();
    return segments < queries() ? static_cast<int>(segments) : queries();
  }

private:
  /// Keys without a bit.
  template <Side side, class Factor>
  __device__ __forceinline__ void hide(Strip<Factor, kTile / 8>& scores, int fragments, int first, int t) const {
    const int row_length = logits_.seen.row();
    if constexpr (side == Side::queries) {
      const auto words_of = [&](int row) {
        const int i = first + strip_row() + Accumulator::row(0) + row;
        const std::uint32_t* words = words_ + static_cast<Index>(i) * row_length + t / 32;
        return i < queries() ? std::uint64_t{words[1]} << 32 | words[0] : 0;
      };
      const std::uint64_t top = words_of(0), bottom = words_of(8);
      scores.each(fragments, [&](int row, int x, float& l) {
        if (!((row < 8 ? top : bottom) >> x & 1)) l = -INFINITY;
      });
    } else {
      const std::uint32_t* words = words_ + static_cast<Index>(t) * row_length;
      each_of<side>(scores, fragments, first, t, [&](int i, int j, float& l) {
        if (in_range(i, j) && !(words[(i - t) * row_length + j / 32] >> j % 32 & 1)) l = -INFINITY;
      });
    }
  }

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
  const std::uint32_t* words_;
  const std::uint8_t* tiles_;
  Panel<T> bias_;
  float slope_;
  const float* table_;  // of factors, or of scores by row
  const float* gradients_by_row_;

public:
  Panel<T> q, k;
};

/// The first row from t on, t and t + 64 and so on, of the other side that the block's rows from `own` on meet at all.
template <Side side, Terms terms, class T>
__device__ __forceinline__ int next_seen(const LogitsOf<T>& logits, int own, int t, int end) {
  constexpr bool by_query = side == Side::queries;
  if constexpr (terms != Terms::none)
    while (t < end && !logits.sees_tile(by_query ? own : t, by_query ? t : own)) t += kTile;
  return t;
}

}  // namespace attest::cuda
