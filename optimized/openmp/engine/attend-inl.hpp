// SPDX-License-Identifier: MIT
// The leaves of the attend engine for the target that is being compiled: included by attend_f32.cpp and attend_f64.cpp
// behind <hwy/foreach_target.h>, once per target, hence no #pragma once.
//
// A tile of logits has a row per key and a lane per query: its maximum and sum over keys need no step across lanes,
// keys and values are read as they lie, with any strides, and only the queries are packed. One product serves all:
// logits = K Q^T, output^T += V^T W, and the same for gradients.
#if defined(ATTEST_OPENMP_ENGINE_ATTEND_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_ENGINE_ATTEND_INL_HPP
#undef ATTEST_OPENMP_ENGINE_ATTEND_INL_HPP
#else
#define ATTEST_OPENMP_ENGINE_ATTEND_INL_HPP
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "attest/openmp/simd/vector-inl.hpp"
#include "openmp/engine/attend_leaves.hpp"
#include "openmp/engine/scratch-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::engine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::all;
using simd::HWY_NAMESPACE::each_column;
using simd::HWY_NAMESPACE::kLanes;
using simd::HWY_NAMESPACE::Lanes;
using simd::HWY_NAMESPACE::Onto;
using simd::HWY_NAMESPACE::product;
using simd::HWY_NAMESPACE::Vector;

/// Three vectors: with 24 or 12 accumulators as many operands are read per product as registers allow.
template <class T>
constexpr Index kQueries = 3 * kLanes<T>;
/// So few queries leave most lanes idle: vectors go along the channels instead.
template <class T>
constexpr Index kFew = std::max<Index>(1, kLanes<T> / 4);

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

/// Queries first .. first + count - 1 in `vectors` vectors; the lanes behind the last are zeros.
template <class T>
struct Queries {
  const Problem<T>& in;
  Index first, count;

  Index vectors() const { return (count + kLanes<T> - 1) / kLanes<T>; }
  Index stride() const { return vectors() * kLanes<T>; }
  Index last() const { return first + count - 1; }
  /// The keys that one of them reaches, and that all of them do.
  Index from() const { return in.left ? std::clamp<Index>(first + in.shift - *in.left, 0, in.k.extent(0)) : 0; }
  Index to() const {
    const Index s = in.k.extent(0);
    return in.right ? std::clamp<Index>(last() + in.shift + *in.right + 1, 0, s) : s;
  }
  bool all_reach(Index key, Index keys) const {
    return (!in.left || last() + in.shift - *in.left <= key) &&
           (!in.right || first + in.shift + *in.right >= key + keys - 1);
  }
};

/// Channel c of query i at out[c * stride + i], times `factor`. What lanes behind the last query have is finite, or
/// what that query has.
template <class T>
void pack_channels(View<const T, 2> x, const Queries<T>& rows, T factor, T* out) {
  const Index stride = rows.stride(), width = x.extent(1);
  if (x.stride(1) == 1) {
    const T* from = x.data() + rows.first * x.stride(0);
    each_column(from, x.stride(0), rows.count, width, [&](Index c, Index first, Vector<T> lanes) HWY_ATTR {
      hn::Store(hn::Mul(lanes, all(factor)), Lanes<T>(), out + c * stride + first);
    });
    return;
  }
  for (Index c = 0; c < width; ++c) {
    const T* from = x.data() + rows.first * x.stride(0) + c * x.stride(1);
    T* to = out + c * stride;
    for (Index i = 0; i < rows.count; ++i) to[i] = from[i * x.stride(0)] * factor;
    for (Index i = rows.count; i < stride; ++i) to[i] = 0;
  }
}

/// Row i at out + i * whole_vectors(width), times `factor`.
template <class T>
void pack_rows(View<const T, 2> x, Index first, Index count, T factor, T* out) {
  const Index width = x.extent(1), stride = whole_vectors<T>(width);
  for (Index i = 0; i < count; ++i) {
    const T* from = x.data() + (first + i) * x.stride(0);
    T* to = out + i * stride;
    for (Index c = 0; c < width; ++c) to[c] = from[c * x.stride(1)] * factor;
    for (Index c = width; c < stride; ++c) to[c] = 0;
  }
}

enum class Seen { none, some, all };

/// What the mask says of a tile.
template <class T>
Seen masked(const Queries<T>& rows, Index key, Index keys) {
  const auto& mask = rows.in.mask;
  if (!mask) return Seen::all;
  bool visible = false, hidden = false;
  for (Index i = rows.first; i <= rows.last() && !(visible && hidden); ++i) {
    const bool* row = mask.data() + i * mask.stride(0) + key * mask.stride(1);
    if (mask.stride(1) == 1) {
      visible = visible || std::memchr(row, 1, static_cast<std::size_t>(keys));
      hidden = hidden || std::memchr(row, 0, static_cast<std::size_t>(keys));
    } else {
      for (Index j = 0; j < keys; ++j) (row[j * mask.stride(1)] ? visible : hidden) = true;
    }
  }
  return !visible ? Seen::none : hidden ? Seen::some : Seen::all;
}

/// Terms of logits, -inf where they hide: a term of each pair at terms + i * term_stride + j.
template <class T>
void add_terms(const T* terms, Index term_stride, Index count, Index keys, T* out, Index stride) {
  const Lanes<T> d;
  each_column(terms, term_stride, count, keys, [&](Index j, Index first, Vector<T> term) HWY_ATTR {
    T* at = out + j * stride + first;
    // NaN of a hidden key stays hidden
    hn::Store(hn::IfThenElse(hn::Eq(term, all(kHidden<T>)), term, hn::Add(hn::Load(d, at), term)), d, at);
  });
}

/// What is done to products of scaled queries and keys before they are logits; row j at out + j * stride.
template <class T>
void edit(const Queries<T>& rows, Index key, Index keys, T* out, Index stride) {
  const Lanes<T> d;
  const auto& in = rows.in;
  if (in.softcap > 0) {
    const auto cap = all(in.softcap);
    for (Index at = 0; at < keys * stride; at += kLanes<T>)
      hn::Store(hn::Mul(cap, simd::HWY_NAMESPACE::tanh<T>(hn::Div(hn::Load(d, out + at), cap))), d, out + at);
  }
  if (in.bias) {
    const T* bias = in.bias.data() + rows.first * in.bias.stride(0) + key * in.bias.stride(1);
    if (in.bias.stride(1) == 1 && stride >= kLanes<T>) {
      add_terms(bias, in.bias.stride(0), rows.count, keys, out, stride);
    } else {
      for (Index i = 0; i < rows.count; ++i)
        for (Index j = 0; j < keys; ++j) {
          const T b = bias[i * in.bias.stride(0) + j * in.bias.stride(1)];
          T& logit = out[j * stride + i];
          logit = b == kHidden<T> ? b : logit + b;
        }
    }
  }
  if (in.edit) in.edit(Tile<T>{out, rows.first, rows.count, key, keys, stride});
}

/// 0 or -inf, without a branch.
template <class T>
HWY_INLINE T hiding_term(bool visible) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>((static_cast<Bits>(visible) - 1) & std::bit_cast<Bits>(kHidden<T>)));
}

template <class T>
void hide_masked(const Queries<T>& rows, Index key, Index keys, T* out, Index stride) {
  constexpr Index kChunk = 64;
  const auto& mask = rows.in.mask;
  const bool* visible = mask.data() + rows.first * mask.stride(0) + key * mask.stride(1);
  if (mask.stride(1) != 1 || stride < kLanes<T>) {
    for (Index i = 0; i < rows.count; ++i)
      for (Index j = 0; j < keys; ++j)
        if (!visible[i * mask.stride(0) + j * mask.stride(1)]) out[j * stride + i] = kHidden<T>;
    return;
  }
  T terms[kLanes<T> * kChunk];
  for (Index first = 0; first < rows.count; first += kLanes<T>)
    for (Index from = 0; from < keys; from += kChunk) {
      const Index count = std::min(kLanes<T>, rows.count - first), chunk = std::min(kChunk, keys - from);
      for (Index i = 0; i < count; ++i)
        for (Index j = 0; j < chunk; ++j)
          terms[i * kChunk + j] = hiding_term<T>(visible[(first + i) * mask.stride(0) + from + j]);
      add_terms(terms, kChunk, count, chunk, out + from * stride + first, stride);
    }
}

/// -inf where a query does not reach.
template <class T>
void hide_unreached(const Queries<T>& rows, Index key, Index keys, T* out) {
  const Lanes<T> d;
  const auto& in = rows.in;
  const Index stride = rows.stride();
  for (Index j = 0; j < keys; ++j) {
    const Index ahead = key + j - (rows.first + in.shift);  // of the first query's own key
    const T from = static_cast<T>(in.right ? std::clamp<Index>(ahead - *in.right, 0, stride) : 0),
            last = static_cast<T>(in.left ? std::clamp<Index>(ahead + *in.left, -1, stride) : stride);
    for (Index w = 0; w < stride; w += kLanes<T>) {
      const auto lane = hn::Add(hn::Iota(d, T(0)), all(static_cast<T>(w)));
      const auto reached = hn::And(hn::Ge(lane, all(from)), hn::Le(lane, all(last)));
      T* at = out + j * stride + w;
      hn::Store(hn::IfThenElse(reached, hn::Load(d, at), all(kHidden<T>)), d, at);
    }
  }
}

/// Whether it is plain, whatever the mask says, that no pair of the tile is hidden.
template <class T>
bool all_seen(const Queries<T>& rows, Index key, Index keys) {
  return rows.all_reach(key, keys) && !rows.in.bias && !rows.in.edit;
}

/// The logits of a tile, -inf where hidden; `packed` are the scaled queries. Nothing is computed where nothing is seen.
template <class T>
Seen logits(const Queries<T>& rows, const T* packed, Index key, Index keys, T* out) {
  const auto& in = rows.in;
  const Seen by_mask = masked(rows, key, keys);
  if (by_mask == Seen::none) return Seen::none;
  const Index stride = rows.stride();
  product<T, Onto::nothing>(keys, rows.vectors(), in.q.extent(1), in.k.data() + key * in.k.stride(0), in.k.stride(0),
                            in.k.stride(1), packed, stride, out, stride);
  edit(rows, key, keys, out, stride);
  if (by_mask == Seen::some) hide_masked(rows, key, keys, out, stride);
  if (!rows.all_reach(key, keys)) hide_unreached(rows, key, keys, out);
  return by_mask == Seen::all && all_seen(rows, key, keys) ? Seen::all : Seen::some;
}

/// 0 where nothing was seen yet, so that -inf - (-inf) does not arise.
template <class T>
HWY_INLINE Vector<T> finite_maximum(Vector<T> maximum) {
  return hn::IfThenZeroElse(hn::Eq(maximum, all(kHidden<T>)), maximum);
}

template <class T>
HWY_INLINE Vector<T> weight(const Problem<T>& in, Vector<T> logit, Vector<T> maximum) {
  return in.exponential ? simd::HWY_NAMESPACE::exp<T>(hn::Sub(logit, maximum))
                        : hn::IfThenZeroElse(hn::Eq(logit, all(kHidden<T>)), logit);
}

/// maximum = the largest of it and the logits of each lane.
template <class T>
void raise(const Problem<T>& in, const T* logits, Index keys, Index stride, T* maximum) {
  const Lanes<T> d;
  if (!in.exponential) return;
  for (Index w = 0; w < stride; w += kLanes<T>) {
    auto even = hn::Load(d, maximum + w), odd = even;
    Index j = 0;
    for (; j + 2 <= keys; j += 2) {
      even = hn::Max(even, hn::Load(d, logits + j * stride + w));
      odd = hn::Max(odd, hn::Load(d, logits + (j + 1) * stride + w));
    }
    if (j < keys) even = hn::Max(even, hn::Load(d, logits + j * stride + w));
    hn::Store(hn::Max(even, odd), d, maximum + w);
  }
}

/// Logits become weights; sum = sum * factor + their sum.
template <class T>
void weigh(const Problem<T>& in, T* logits, Index keys, Index stride, const T* maximum, const T* factor, T* sum) {
  const Lanes<T> d;
  for (Index w = 0; w < stride; w += kLanes<T>) {
    const auto top = finite_maximum<T>(hn::Load(d, maximum + w));
    auto even = hn::Zero(d), odd = hn::Zero(d);
    Index j = 0;
    for (; j + 2 <= keys; j += 2) {
      T* at = logits + j * stride + w;
      const auto x = weight<T>(in, hn::Load(d, at), top), y = weight<T>(in, hn::Load(d, at + stride), top);
      hn::Store(x, d, at);
      hn::Store(y, d, at + stride);
      even = hn::Add(even, x);
      odd = hn::Add(odd, y);
    }
    if (j < keys) {
      const auto x = weight<T>(in, hn::Load(d, logits + j * stride + w), top);
      hn::Store(x, d, logits + j * stride + w);
      even = hn::Add(even, x);
    }
    hn::Store(hn::MulAdd(hn::Load(d, sum + w), hn::Load(d, factor + w), hn::Add(even, odd)), d, sum + w);
  }
}

/// Rows of keys or values of a tile that are not finite and that some query does not see: 0 times them is NaN, so they
/// are multiplied apart, for those who see them.
template <class T>
class Apart {
public:
  static Index size(Index keys, Index width, Index stride) { return whole_vectors<T>(keys) + keys * (stride + width); }

  /// Of hidden pairs `logits` are -inf, or `hidden`; it is copied as far as it is needed.
  Apart(View<const T, 2> x, Seen seen, const T* logits, Index key, Index keys, Index stride, Scratch<T> scratch,
        T hidden = kHidden<T>)
      : x_(x), key_(key), keys_(keys), stride_(stride), hidden_(hidden) {
    if (seen == Seen::all || finite(key, keys)) return;
    const Index width = x.extent(1);
    row_ = scratch.take(keys);
    logits_ = scratch.take(keys * stride);
    cleaned_ = scratch.take(keys * width);
    for (Index j = 0; j < keys; ++j) {
      const bool kept = finite(key + j, 1);
      for (Index c = 0; c < width; ++c) cleaned_[j * width + c] = kept ? x(key + j, c) : T(0);
      if (kept) continue;
      row_[rows_] = static_cast<T>(j);
      std::copy_n(logits + j * stride, stride, logits_ + rows_ * stride);
      ++rows_;
    }
  }

  /// out (a row per channel) gets x^T weights.
  template <Onto onto>
  void multiply(const T* weights, T* out, const T* factor = nullptr) const {
    const Lanes<T> d;
    const Index width = x_.extent(1), vectors = stride_ / kLanes<T>;
    if (!rows_) {
      product<T, onto>(width, vectors, keys_, x_.data() + key_ * x_.stride(0), x_.stride(1), x_.stride(0), weights,
                       stride_, out, stride_, factor);
      return;
    }
    product<T, onto>(width, vectors, keys_, cleaned_, 1, width, weights, stride_, out, stride_, factor);
    for (Index r = 0; r < rows_; ++r) {
      const Index j = static_cast<Index>(row_[r]);
      for (Index c = 0; c < width; ++c)
        for (Index w = 0; w < stride_; w += kLanes<T>) {
          const auto hidden = hn::Eq(hn::Load(d, logits_ + r * stride_ + w), all(hidden_));
          const auto more = hn::Mul(hn::Load(d, weights + j * stride_ + w), all(x_(key_ + j, c)));
          T* at = out + c * stride_ + w;
          hn::Store(hn::Add(hn::Load(d, at), hn::IfThenZeroElse(hidden, more)), d, at);
        }
    }
  }

private:
  bool finite(Index first, Index count) const {
    const Lanes<T> d;
    const Index width = x_.extent(1), step = x_.stride(1);
    auto sums = hn::Zero(d);
    T sum = 0;
    for (Index j = first; j < first + count; ++j) {
      const T* row = x_.data() + j * x_.stride(0);
      Index c = 0;
      if (step == 1)
        for (; c + kLanes<T> <= width; c += kLanes<T>) sums = hn::MulAdd(hn::LoadU(d, row + c), hn::Zero(d), sums);
      for (; c < width; ++c) sum += row[c * step] * T(0);
    }
    return sum + hn::GetLane(hn::SumOfLanes(d, sums)) == 0;
  }

  View<const T, 2> x_;
  Index key_, keys_, stride_, rows_ = 0;
  T hidden_;
  T *row_ = nullptr, *logits_ = nullptr, *cleaned_ = nullptr;
};

template <class T>
void start(const Forward<T>& out, Index from, Partial<T> partial) {
  // The sink takes part once, in what begins with the first key.
  const bool sink = out.sink && from == 0;
  std::fill_n(partial.maximum(), partial.stride, sink ? *out.sink : kHidden<T>);
  std::fill_n(partial.sum(), partial.stride, T(sink ? 1 : 0));
  std::fill_n(partial.output(), partial.channels * partial.stride, T(0));
}

/// each(key, keys) for the tiles of keys from .. to - 1 that some of the queries reach.
template <class T, class F>
HWY_INLINE void each_tile_of_keys(const Queries<T>& rows, Index from, Index to, Index tile, F&& each) {
  from = std::max(from, rows.from());
  to = std::min(to, rows.to());
  for (Index key = from; key < to;) {
    const Index next = std::min(to, (key / tile + 1) * tile);
    each(key, next - key);
    key = next;
  }
}

/// The running maximum is raised to that of the tile; factor = e^(before - after).
template <class T>
void rise(const Problem<T>& in, const T* logits, Index keys, Index stride, T* maximum, T* factor) {
  const Lanes<T> d;
  std::copy_n(maximum, stride, factor);
  raise(in, logits, keys, stride, maximum);
  for (Index w = 0; w < stride; w += kLanes<T>) {
    const auto before = hn::Load(d, factor + w), after = finite_maximum<T>(hn::Load(d, maximum + w));
    hn::Store(in.exponential ? simd::HWY_NAMESPACE::exp<T>(hn::Sub(before, after)) : all(T(1)), d, factor + w);
  }
}

/// Tile after tile with a running maximum, sum and output.
template <class T>
void fold(const Queries<T>& rows, Index tile, Index from, Index to, Scratch<T> scratch, Partial<T> partial) {
  const auto& in = rows.in;
  const Index stride = rows.stride();
  T* packed = scratch.take(in.q.extent(1) * stride);
  T* weights = scratch.take(tile * stride);
  T* factor = scratch.take(stride);
  pack_channels(in.q, rows, in.scale, packed);
  each_tile_of_keys(rows, from, to, tile, [&](Index key, Index keys) HWY_ATTR {
    const Seen seen = logits(rows, packed, key, keys, weights);
    if (seen == Seen::none) return;
    const Apart<T> values(in.v, seen, weights, key, keys, stride, scratch);
    rise(in, weights, keys, stride, partial.maximum(), factor);
    weigh(in, weights, keys, stride, partial.maximum(), factor, partial.sum());
    values.template multiply<Onto::scaled_sum>(weights, partial.output(), factor);
  });
}

/// The dot product of two arrays whose elements lie side by side.
template <class T>
HWY_INLINE T dot(const T* a, const T* b, Index count) {
  const Lanes<T> d;
  auto sum = hn::Zero(d);
  Index c = 0;
  for (; c + kLanes<T> <= count; c += kLanes<T>) sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
  T total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; c < count; ++c) total += a[c] * b[c];
  return total;
}

/// out (whole vectors) = out * factor + sum_j weights[j] row j; rows of weight 0 are left out if so wished.
template <class T>
HWY_INLINE void add_rows(View<const T, 2> x, Index first, Index count, const T* weights, bool skip_zeros, T factor,
                         T* out) {
  constexpr Index kSums = 4;
  const Lanes<T> d;
  const Index width = x.extent(1);
  Index c = 0;
  for (; c + kSums * kLanes<T> <= width; c += kSums * kLanes<T>) {
    Vector<T> sum[kSums];
    for (Index w = 0; w < kSums; ++w) sum[w] = hn::Mul(hn::Load(d, out + c + w * kLanes<T>), all(factor));
    for (Index j = 0; j < count; ++j) {
      if (skip_zeros && weights[j] == 0) continue;
      const T* row = x.data() + (first + j) * x.stride(0) + c;
      for (Index w = 0; w < kSums; ++w) sum[w] = hn::MulAdd(all(weights[j]), hn::LoadU(d, row + w * kLanes<T>), sum[w]);
    }
    for (Index w = 0; w < kSums; ++w) hn::Store(sum[w], d, out + c + w * kLanes<T>);
  }
  for (; c + kLanes<T> <= width; c += kLanes<T>) {
    auto sum = hn::Mul(hn::Load(d, out + c), all(factor));
    for (Index j = 0; j < count; ++j)
      if (!(skip_zeros && weights[j] == 0))
        sum = hn::MulAdd(all(weights[j]), hn::LoadU(d, x.data() + (first + j) * x.stride(0) + c), sum);
    hn::Store(sum, d, out + c);
  }
  for (; c < width; ++c) {
    T sum = out[c] * factor;
    for (Index j = 0; j < count; ++j)
      if (!(skip_zeros && weights[j] == 0)) sum += weights[j] * x.data()[(first + j) * x.stride(0) + c];
    out[c] = sum;
  }
}

/// The same as `fold` for few queries: vectors along the channels for products, along the keys for weights. Keys and
/// values are read once.
template <class T>
void fold_few(const Queries<T>& rows, Index tile, Index from, Index to, Scratch<T> scratch, Partial<T> partial) {
  const auto& in = rows.in;
  const Lanes<T> d;
  const Index width = whole_vectors<T>(in.q.extent(1)), channels = whole_vectors<T>(in.v.extent(1));
  T* packed = scratch.take(rows.count * width);
  T* weights = scratch.take(tile);
  T* output = scratch.take(rows.count * channels);
  pack_rows(in.q, rows.first, rows.count, in.scale, packed);
  std::fill_n(output, rows.count * channels, T(0));
  each_tile_of_keys(rows, from, to, tile, [&](Index key_of_all, Index keys_of_all) HWY_ATTR {
    for (Index i = 0; i < rows.count; ++i) {
      const Queries<T> row{in, rows.first + i, 1};
      const Index key = std::max(key_of_all, row.from()), keys = std::min(key_of_all + keys_of_all, row.to()) - key;
      const Seen by_mask = keys > 0 ? masked(row, key, keys) : Seen::none;
      if (by_mask == Seen::none) continue;
      const Index padded = whole_vectors<T>(keys);
      for (Index j = 0; j < keys; ++j)
        weights[j] = dot(packed + i * width, in.k.data() + (key + j) * in.k.stride(0), in.q.extent(1));
      std::fill(weights + keys, weights + padded, T(0));
      edit(row, key, keys, weights, 1);
      if (by_mask == Seen::some) hide_masked(row, key, keys, weights, 1);
      std::fill(weights + keys, weights + padded, kHidden<T>);
      T& maximum = partial.maximum()[i];
      const T before = maximum;
      auto top = all(maximum);
      if (in.exponential)
        for (Index j = 0; j < padded; j += kLanes<T>) top = hn::Max(top, hn::Load(d, weights + j));
      top = hn::MaxOfLanes(d, top);
      maximum = hn::GetLane(top);
      top = finite_maximum<T>(top);
      const T factor = in.exponential ? hn::GetLane(simd::HWY_NAMESPACE::exp<T>(hn::Sub(all(before), top))) : T(1);
      auto sum = hn::Zero(d);
      for (Index j = 0; j < padded; j += kLanes<T>) {
        const auto w = weight<T>(in, hn::Load(d, weights + j), top);
        hn::Store(w, d, weights + j);
        sum = hn::Add(sum, w);
      }
      partial.sum()[i] = partial.sum()[i] * factor + hn::GetLane(hn::SumOfLanes(d, sum));
      add_rows(in.v, key, keys, weights, by_mask == Seen::some || in.bias || in.edit, factor, output + i * channels);
    }
  });
  for (Index i = 0; i < rows.count; ++i)
    for (Index c = 0; c < in.v.extent(1); ++c) partial.output()[c * partial.stride + i] = output[i * channels + c];
}

template <class T>
bool few(const Queries<T>& rows) {
  return rows.count <= kFew<T> && rows.in.k.stride(1) == 1 && rows.in.v.stride(1) == 1;
}

template <class T>
void shard(const Problem<T>& in, const Forward<T>& out, Index first, Index count, Index tile, Index from, Index to,
           T* scratch, Partial<T> partial) {
  const Queries<T> rows{in, first, count};
  start(out, from, partial);
  (few(rows) ? fold_few<T> : fold<T>)(rows, tile, from, to, Scratch<T>(scratch), partial);
}

template <class T>
void merge(Partial<T> into, Partial<T> other) {
  const Lanes<T> d;
  for (Index w = 0; w < into.stride; w += kLanes<T>) {
    const auto a = hn::Load(d, into.maximum() + w), b = hn::Load(d, other.maximum() + w);
    const auto most = hn::Max(a, b), top = finite_maximum<T>(most);
    const auto keep = simd::HWY_NAMESPACE::exp<T>(hn::Sub(a, top)), add = simd::HWY_NAMESPACE::exp<T>(hn::Sub(b, top));
    hn::Store(most, d, into.maximum() + w);
    for (Index r = 1; r < 2 + into.channels; ++r) {  // the sum, and every channel
      T* at = into.data + r * into.stride + w;
      hn::Store(hn::MulAdd(hn::Load(d, at), keep, hn::Mul(hn::Load(d, other.data + r * into.stride + w), add)), d, at);
    }
  }
}

/// Query i of a tile that saw nothing.
template <class T>
void write_empty(const Problem<T>& in, Empty empty, View<T, 1> o) {
  const Index s = in.v.extent(0);
  for (Index c = 0; c < o.extent(0); ++c) {
    T sum = 0;
    if (empty == Empty::mean_of_values)
      for (Index j = 0; j < s; ++j) sum += in.v(j, c);
    o(c) = empty == Empty::nan    ? std::numeric_limits<T>::quiet_NaN()
           : empty == Empty::zero ? T(0)
                                  : sum / static_cast<T>(s);
  }
}

/// Outputs that are sums, to be divided by `sum`; it is 0 where nothing was seen.
template <class T>
void finish(const Problem<T>& in, const Forward<T>& out, Index first, Index count, Partial<T> partial) {
  const Lanes<T> d;
  for (Index c = 0; c < partial.channels; ++c)
    for (Index w = 0; w < partial.stride; w += kLanes<T>) {
      T* at = partial.output() + c * partial.stride + w;
      hn::Store(hn::Div(hn::Load(d, at), hn::Load(d, partial.sum() + w)), d, at);
    }
  for (Index i = 0; i < count; ++i) {
    const auto o = out.o[first + i];
    const bool empty = partial.sum()[i] == 0;
    if (empty)
      write_empty(in, out.empty, o);
    else
      for (Index c = 0; c < partial.channels; ++c) o.data()[c * o.stride(0)] = partial.output()[c * partial.stride + i];
    if (out.lse) out.lse(first + i) = empty ? kHidden<T> : partial.maximum()[i] + std::log(partial.sum()[i]);
  }
}

/// All logits of a row, then its maximum, then normalised weights, then values.
template <class T>
void whole_row(const Queries<T>& rows, const Forward<T>& out, Index tile, Scratch<T> scratch, Partial<T> partial) {
  const auto& in = rows.in;
  const Lanes<T> d;
  const Index stride = rows.stride(), begin = rows.from();
  T* packed = scratch.take(in.q.extent(1) * stride);
  T* one = scratch.take(stride);
  T* panel = scratch.take(in.k.extent(0) * stride);
  std::fill_n(one, stride, T(1));
  pack_channels(in.q, rows, in.scale, packed);
  each_tile_of_keys(rows, 0, in.k.extent(0), tile, [&](Index key, Index keys) HWY_ATTR {
    T* at = panel + (key - begin) * stride;
    if (logits(rows, packed, key, keys, at) == Seen::none) std::fill_n(at, keys * stride, kHidden<T>);
    raise(in, at, keys, stride, partial.maximum());
  });
  if (out.sink)  // its term is e^(sink - maximum)
    for (Index w = 0; w < stride; w += kLanes<T>)
      hn::Store(weight<T>(in, all(*out.sink), finite_maximum<T>(hn::Load(d, partial.maximum() + w))), d,
                partial.sum() + w);
  const Index keys_of_all = std::max<Index>(0, rows.to() - begin);
  // Which weights belong to hidden keys must be known below: sums first, the logits stay.
  for (Index w = 0; w < stride; w += kLanes<T>) {
    const auto top = finite_maximum<T>(hn::Load(d, partial.maximum() + w));
    auto sum = hn::Load(d, partial.sum() + w);
    for (Index j = 0; j < keys_of_all; ++j) sum = hn::Add(sum, weight<T>(in, hn::Load(d, panel + j * stride + w), top));
    hn::Store(sum, d, partial.sum() + w);
  }
  each_tile_of_keys(rows, 0, in.k.extent(0), tile, [&](Index key, Index keys) HWY_ATTR {
    T* at = panel + (key - begin) * stride;
    const Seen seen = !in.mask && all_seen(rows, key, keys) ? Seen::all : Seen::some;
    const Apart<T> values(in.v, seen, at, key, keys, stride, scratch);
    for (Index w = 0; w < stride; w += kLanes<T>) {
      const auto top = finite_maximum<T>(hn::Load(d, partial.maximum() + w));
      auto sum = hn::Load(d, partial.sum() + w);
      sum = hn::IfThenElse(hn::Eq(sum, hn::Zero(d)), all(T(1)), sum);
      for (Index j = 0; j < keys; ++j) {
        T* here = at + j * stride + w;
        hn::Store(hn::Div(weight<T>(in, hn::Load(d, here), top), sum), d, here);
      }
    }
    if (out.weights) out.weights(Tile<T>{at, rows.first, rows.count, key, keys, stride});
    values.template multiply<Onto::sum>(at, partial.output());
  });
}

/// The log-sum-exp of each lane in `lse`, by a running maximum; 0 where nothing is seen.
template <class T>
void log_sum_exp(const Queries<T>& rows, Index tile, const T* packed, Scratch<T> scratch, Partial<T> partial, T* lse) {
  const auto& in = rows.in;
  const Index stride = rows.stride();
  T* weights = scratch.take(tile * stride);
  T* factor = scratch.take(stride);
  each_tile_of_keys(rows, 0, in.k.extent(0), tile, [&](Index key, Index keys) HWY_ATTR {
    if (logits(rows, packed, key, keys, weights) == Seen::none) return;
    rise(in, weights, keys, stride, partial.maximum(), factor);
    weigh(in, weights, keys, stride, partial.maximum(), factor, partial.sum());
  });
  for (Index i = 0; i < stride; ++i)
    lse[i] = partial.sum()[i] == 0 ? T(0) : partial.maximum()[i] + std::log(partial.sum()[i]);
}

template <class T>
void from_log_sum_exp(const Queries<T>& rows, Index tile, Scratch<T> scratch, Partial<T> partial) {
  const auto& in = rows.in;
  const Index stride = rows.stride();
  T* packed = scratch.take(in.q.extent(1) * stride);
  T* lse = scratch.take(stride);
  T* one = scratch.take(stride);
  T* ignored = scratch.take(stride);
  pack_channels(in.q, rows, in.scale, packed);
  log_sum_exp(rows, tile, packed, scratch, partial, lse);
  T* weights = scratch.take(tile * stride);
  std::fill_n(one, stride, T(1));
  std::fill_n(ignored, stride, T(0));
  each_tile_of_keys(rows, 0, in.k.extent(0), tile, [&](Index key, Index keys) HWY_ATTR {
    const Seen seen = logits(rows, packed, key, keys, weights);
    if (seen == Seen::none) return;
    const Apart<T> values(in.v, seen, weights, key, keys, stride, scratch);
    weigh(in, weights, keys, stride, lse, one, ignored);
    values.template multiply<Onto::sum>(weights, partial.output());
  });
}

template <class T>
Index scratch_size(const Problem<T>& in, Schedule schedule, Index tile) {
  const Index stride = kQueries<T>, d = in.q.extent(1), m = in.v.extent(1);
  const Index panel = schedule == Schedule::whole_row ? in.k.extent(0) : tile;
  const Index lanes = d * stride + 8 * stride + panel * stride + Apart<T>::size(tile, std::max(d, m), stride);
  const Index channels = kFew<T> * (whole_vectors<T>(d) + whole_vectors<T>(m)) + whole_vectors<T>(tile);
  return std::max(lanes, channels) + Partial<T>::size(stride, m) + 16 * kLanes<T>;
}

template <class T>
void forward(const Problem<T>& in, const Forward<T>& out, Index first, Index count, Index tile, T* memory) {
  const Queries<T> rows{in, first, count};
  Scratch<T> scratch(memory);
  const Index stride = rows.stride(), m = in.v.extent(1), s = in.k.extent(0);
  const Partial<T> partial{scratch.take(Partial<T>::size(stride, m)), stride, m};
  if (out.schedule == Schedule::online || out.schedule == Schedule::split) {
    shard(in, out, first, count, tile, 0, s, scratch.take(0), partial);
    return finish(in, out, first, count, partial);
  }
  start(out, 0, partial);
  if (out.schedule == Schedule::whole_row) {
    if (out.sink) std::fill_n(partial.sum(), stride, T(0));
    whole_row(rows, out, tile, scratch, partial);
  } else {
    from_log_sum_exp(rows, tile, scratch, partial);
  }
  // The weights were normalised: only the log-sum-exp and what is empty still depend on the sum.
  for (Index i = 0; i < count; ++i)
    if (out.lse)
      out.lse(first + i) = partial.sum()[i] == 0 ? kHidden<T> : partial.maximum()[i] + std::log(partial.sum()[i]);
  for (Index i = 0; i < stride; ++i) partial.sum()[i] = partial.sum()[i] == 0 ? T(0) : T(1);
  Forward<T> rest = out;
  rest.lse = {};
  finish(in, rest, first, count, partial);
}

template <class T>
Index backward_scratch_size(const Problem<T>& in, Gradient gradient, Index tile) {
  const Index stride = kQueries<T>, d = in.q.extent(1), m = in.v.extent(1);
  const Index panel = gradient == Gradient::weights_kept ? in.k.extent(0) : tile;
  return 2 * d * stride + m * stride + stride * (whole_vectors<T>(d) + whole_vectors<T>(m)) + 2 * panel * stride +
         tile * stride + 12 * stride + Partial<T>::size(stride, m) + 2 * Apart<T>::size(tile, std::max(d, m), stride) +
         32 * kLanes<T>;
}

/// One tile of queries of a gradient.
template <class T>
class Descent {
public:
  Descent(const Problem<T>& in, const Backward<T>& out, Index first, Index count, Index tile, T* memory, T* grad_k,
          T* grad_v)
      : in_(in),
        out_(out),
        rows_{in, first, count},
        tile_(tile),
        stride_(rows_.stride()),
        scratch_(memory),
        grad_k_(grad_k),
        grad_v_(grad_v) {
    const Index d = in.q.extent(1), m = in.v.extent(1);
    q_ = scratch_.take(d * stride_);
    grad_o_ = scratch_.take(m * stride_);
    grad_q_ = scratch_.take(d * stride_);
    q_rows_ = scratch_.take(count * whole_vectors<T>(d));
    grad_o_rows_ = scratch_.take(count * whole_vectors<T>(m));
    one_ = scratch_.take(stride_);
    delta_ = scratch_.take(stride_);
    inverse_ = scratch_.take(stride_);
    factor_ = scratch_.take(stride_);
    partial_ = {scratch_.take(Partial<T>::size(stride_, m)), stride_, m};
    pack_channels(in.q, rows_, in.scale, q_);
    pack_channels(out.grad_o, rows_, T(1), grad_o_);
    pack_rows(in.q, first, count, in.scale, q_rows_);
    pack_rows(out.grad_o, first, count, T(1), grad_o_rows_);
    std::fill_n(grad_q_, d * stride_, T(0));
    std::fill_n(one_, stride_, T(1));
    std::fill_n(delta_, stride_, T(0));
    start(Forward<T>(), 0, partial_);
    if (out.grad_bias)
      for (Index i = 0; i < count; ++i) {
        const auto row = out.grad_bias[first + i];
        for (Index j = 0; j < row.extent(0); ++j) row(j) = 0;
      }
  }

  /// Weights of the whole row are kept between the sums and the gradients.
  void weights_kept() {
    const Index begin = rows_.from();
    T* weights = scratch_.take(in_.k.extent(0) * stride_);
    T* grads = scratch_.take(in_.k.extent(0) * stride_);
    each([&](Index key, Index keys) HWY_ATTR {
      T* at = weights + (key - begin) * stride_;
      if (logits(rows_, q_, key, keys, at) == Seen::none)
        std::fill_n(at, keys * stride_, kHidden<T>);
      else
        raise(in_, at, keys, stride_, partial_.maximum());
    });
    each([&](Index key, Index keys) HWY_ATTR {
      T *at = weights + (key - begin) * stride_, *grad = grads + (key - begin) * stride_;
      grad_weights(key, keys, grad);
      weigh(in_, at, keys, stride_, partial_.maximum(), one_, partial_.sum());
      add_to_delta(at, grad, keys, one_);
    });
    divide_delta();
    each([&](Index key, Index keys) HWY_ATTR {
      T *at = weights + (key - begin) * stride_, *grad = grads + (key - begin) * stride_;
      scale_weights(at, keys);
      descend(key, keys, at, grad);
    });
    write();
  }

  /// The weights of one tile at a time, from the log-sum-exp.
  void recomputed(bool delta_from_output) {
    T* lse = scratch_.take(stride_);
    T* weights = scratch_.take(tile_ * stride_);
    T* grad = scratch_.take(tile_ * stride_);
    each([&](Index key, Index keys) HWY_ATTR {
      const Seen seen = logits(rows_, q_, key, keys, weights);
      if (seen == Seen::none) return;
      const Apart<T> values(in_.v, seen, weights, key, keys, stride_, scratch_);
      rise(in_, weights, keys, stride_, partial_.maximum(), factor_);
      weigh(in_, weights, keys, stride_, partial_.maximum(), factor_, partial_.sum());
      if (delta_from_output) {
        values.template multiply<Onto::scaled_sum>(weights, partial_.output(), factor_);
      } else {
        grad_weights(key, keys, grad);
        add_to_delta(weights, grad, keys, factor_);
      }
    });
    if (delta_from_output)
      for (Index c = 0; c < partial_.channels; ++c)
        for (Index i = 0; i < stride_; ++i) delta_[i] += partial_.output()[c * stride_ + i] * grad_o_[c * stride_ + i];
    divide_delta();
    for (Index i = 0; i < stride_; ++i) {
      lse[i] = partial_.sum()[i] == 0 ? T(0) : partial_.maximum()[i] + std::log(partial_.sum()[i]);
      inverse_[i] = i < rows_.count ? T(1) : T(0);
    }
    each([&](Index key, Index keys) HWY_ATTR {
      if (logits(rows_, q_, key, keys, weights) == Seen::none) return;
      const Lanes<T> d;
      for (Index w = 0; w < stride_; w += kLanes<T>) {
        const auto top = hn::Load(d, lse + w), keep = hn::Load(d, inverse_ + w);
        for (Index j = 0; j < keys; ++j) {
          T* at = weights + j * stride_ + w;
          hn::Store(hn::Mul(weight<T>(in_, hn::Load(d, at), top), keep), d, at);
        }
      }
      grad_weights(key, keys, grad);
      descend(key, keys, weights, grad);
    });
    write();
  }

private:
  template <class F>
  void each(F&& f) {
    each_tile_of_keys(rows_, 0, in_.k.extent(0), tile_, f);
  }

  /// grad_a^T = V grad_o^T
  void grad_weights(Index key, Index keys, T* grad) const {
    const auto& v = in_.v;
    product<T, Onto::nothing>(keys, rows_.vectors(), v.extent(1), v.data() + key * v.stride(0), v.stride(0),
                              v.stride(1), grad_o_, stride_, grad, stride_);
  }

  /// delta = delta * factor + sum_j w_j grad_a_j, over weights that are not 0
  void add_to_delta(const T* weights, const T* grad, Index keys, const T* factor) {
    const Lanes<T> d;
    for (Index w = 0; w < stride_; w += kLanes<T>) {
      auto even = hn::Mul(hn::Load(d, delta_ + w), hn::Load(d, factor + w)), odd = hn::Zero(d);
      for (Index j = 0; j < keys; ++j) {
        const auto a = hn::Load(d, weights + j * stride_ + w);
        const auto g = hn::IfThenZeroElse(hn::Eq(a, hn::Zero(d)), hn::Load(d, grad + j * stride_ + w));
        (j % 2 ? odd : even) = hn::MulAdd(a, g, j % 2 ? odd : even);
      }
      hn::Store(hn::Add(even, odd), d, delta_ + w);
    }
  }

  void divide_delta() {
    for (Index i = 0; i < stride_; ++i) {
      const T sum = partial_.sum()[i];
      inverse_[i] = i < rows_.count && sum != 0 ? T(1) / sum : T(0);
      delta_[i] = sum != 0 ? delta_[i] / sum : T(0);
    }
  }

  void scale_weights(T* weights, Index keys) const {
    const Lanes<T> d;
    for (Index w = 0; w < stride_; w += kLanes<T>) {
      const auto inverse = hn::Load(d, inverse_ + w);
      for (Index j = 0; j < keys; ++j)
        hn::Store(hn::Mul(hn::Load(d, weights + j * stride_ + w), inverse), d, weights + j * stride_ + w);
    }
  }

  /// grad_v += A^T grad_o, grad_l = a (grad_a - delta) in place of grad_a, grad_k += grad_l^T q, grad_q += grad_l k.
  void descend(Index key, Index keys, const T* weights, T* grad) {
    const Lanes<T> d;
    const Index dp = whole_vectors<T>(in_.q.extent(1)), mp = whole_vectors<T>(in_.v.extent(1));
    product<T, Onto::sum>(keys, mp / kLanes<T>, rows_.count, weights, stride_, 1, grad_o_rows_, mp, grad_v_ + key * mp,
                          mp);
    for (Index w = 0; w < stride_; w += kLanes<T>) {
      const auto delta = hn::Load(d, delta_ + w);
      for (Index j = 0; j < keys; ++j) {
        const auto a = hn::Load(d, weights + j * stride_ + w);
        T* at = grad + j * stride_ + w;
        const auto l = hn::Mul(a, hn::Sub(hn::Load(d, at), delta));
        hn::Store(hn::IfThenZeroElse(hn::Eq(a, hn::Zero(d)), l), d, at);
      }
    }
    product<T, Onto::sum>(keys, dp / kLanes<T>, rows_.count, grad, stride_, 1, q_rows_, dp, grad_k_ + key * dp, dp);
    if (out_.grad_bias)
      for (Index i = 0; i < rows_.count; ++i)
        for (Index j = 0; j < keys; ++j) out_.grad_bias(rows_.first + i, key + j) = grad[j * stride_ + i];
    const Seen seen = !in_.mask && all_seen(rows_, key, keys) ? Seen::all : Seen::some;
    Apart<T>(in_.k, seen, weights, key, keys, stride_, scratch_, T(0)).template multiply<Onto::sum>(grad, grad_q_);
  }

  void write() {
    for (Index i = 0; i < rows_.count; ++i)
      for (Index c = 0; c < in_.q.extent(1); ++c)
        out_.grad_q(rows_.first + i, c) = in_.scale * grad_q_[c * stride_ + i];
  }

  const Problem<T>& in_;
  const Backward<T>& out_;
  const Queries<T> rows_;
  const Index tile_, stride_;
  Scratch<T> scratch_;
  T *grad_k_, *grad_v_;
  T *q_, *grad_o_, *grad_q_, *q_rows_, *grad_o_rows_, *one_, *delta_, *inverse_, *factor_;
  Partial<T> partial_{};
};

template <class T>
void backward(const Problem<T>& in, const Backward<T>& out, Index first, Index count, Index tile, T* scratch, T* grad_k,
              T* grad_v) {
  Descent<T> descent(in, out, first, count, tile, scratch, grad_k, grad_v);
  if (out.gradient == Gradient::weights_kept)
    descent.weights_kept();
  else
    descent.recomputed(out.gradient == Gradient::recomputed_delta_from_output);
}

template <class T>
inline const Leaves<T> leaves = {kLanes<T>, kQueries<T>, scratch_size<T>,          forward<T>, shard<T>,
                                 merge<T>,  finish<T>,   backward_scratch_size<T>, backward<T>};

}  // namespace attest::openmp::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
