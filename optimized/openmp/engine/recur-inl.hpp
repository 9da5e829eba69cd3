// SPDX-License-Identifier: MIT
// The leaves of the recur engine for the target that is being compiled: included by recur_f32.cpp and recur_f64.cpp
// behind <hwy/foreach_target.h>, once per target, hence no #pragma once.
//
// Lanes go along channels: queries and keys are read as they lie and multiplied from the left, one element at a time;
// the state and the values are what they multiply. Only the keys of a tile are transposed, for the products of its
// queries and keys.
#if defined(ATTEST_OPENMP_ENGINE_RECUR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEST_OPENMP_ENGINE_RECUR_INL_HPP
#undef ATTEST_OPENMP_ENGINE_RECUR_INL_HPP
#else
#define ATTEST_OPENMP_ENGINE_RECUR_INL_HPP
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "openmp/engine/recur_leaves.hpp"
#include "openmp/engine/scratch-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attest::openmp::engine::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::all;
using simd::HWY_NAMESPACE::each_column;
using simd::HWY_NAMESPACE::Lanes;
using simd::HWY_NAMESPACE::Onto;
using simd::HWY_NAMESPACE::product;
using simd::HWY_NAMESPACE::Vector;

/// Elements behind the last pair that a query sees that are zeros: at least as many as rows of a product or lanes.
constexpr Index kZeros = 16;

/// Rows of elements side by side; behind the last come zeros up to a whole vector.
template <class T>
struct Rows {
  const T* data;
  Index stride;
};

/// Rows first .. first + count - 1 of x, mapped, as they lie if possible. Those that the mask hides are zeros and not
/// read.
template <class T>
Rows<T> rows_of(View<const T, 2> x, Index first, Index count, const Map<T>& map, View<const bool, 1> mask,
                Scratch<T>& scratch) {
  const Index width = x.extent(1), stride = whole_vectors<T>(width), step = x.stride(1);
  const T* from = x.data() + first * x.stride(0);
  if (step == 1 && stride == width && !map && !mask) return {from, x.stride(0)};
  T* to = scratch.take(count * stride);
  const auto hidden = [&](Index i) { return mask && !mask(first + i); };
  for (Index i = 0; i < count; ++i) {
    const T* row = from + i * x.stride(0);
    T* out = to + i * stride;
    Index a = 0;
    if (hidden(i))
      ;
    else if (step == 1)
      a = std::copy_n(row, width, out) - out;
    else
      for (; a < width; ++a) out[a] = row[a * step];
    std::fill_n(out + a, stride - a, T(0));
  }
  if (map) {
    map(to, count * stride);
    for (Index i = 0; i < count; ++i) {
      const Index seen = hidden(i) ? 0 : width;
      std::fill_n(to + i * stride + seen, stride - seen, T(0));
    }
  }
  return {to, stride};
}

/// Asks for what the next tile reads and writes, some lines at a time between products: these walk through many rows at
/// once, which the processor's own prefetching does not foresee, and all lines at once would be waited for.
template <class T>
class Ahead {
public:
  Ahead(const Recurrence<T>& in, Index first, Index count, bool answer) {
    add(in.k, first, count);
    add(in.v, first, count);
    if (answer) add(in.q, first, count), add(View<const T, 2>(in.o), first, count);
  }
  void some(Index lines) {
    for (; lines > 0 && turn_ < used_; --lines) {
      Part& part = parts_[turn_];
      hwy::Prefetch(part.row + part.line * kLine);
      if (++part.line < part.lines) continue;
      part.line = 0;
      part.row += part.stride;
      if (--part.rows == 0) ++turn_;
    }
  }

private:
  static constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  struct Part {
    const T* row;
    Index stride, rows, lines, line;
  };
  void add(View<const T, 2> x, Index first, Index count) {
    const Index rows = std::min(first + count, x.extent(0)) - first;
    if (x.stride(1) == 1 && rows > 0)
      parts_[used_++] = {x.data() + first * x.stride(0), x.stride(0), rows, (x.extent(1) + kLine - 1) / kLine, 0};
  }

  Part parts_[4] = {};
  int used_ = 0, turn_ = 0;
};

template <class T>
bool finite(Rows<T> x, Index count, Index width) {
  const Lanes<T> d;
  auto even = hn::Zero(d), odd = hn::Zero(d);
  for (Index a = 0; a < width; a += kLanes<T>) {
    Index i = 0;
    const auto at = [&](Index row) HWY_ATTR { return hn::LoadU(d, x.data + row * x.stride + a); };
    for (; i + 2 <= count; i += 2) {
      even = hn::MulAdd(at(i), hn::Zero(d), even);
      odd = hn::MulAdd(at(i + 1), hn::Zero(d), odd);
    }
    if (i < count) even = hn::MulAdd(at(i), hn::Zero(d), even);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) == 0;
}

template <class T>
HWY_INLINE T dot(const T* a, const T* b, Index size) {
  const Lanes<T> d;
  auto even = hn::Zero(d), odd = hn::Zero(d);
  Index i = 0;
  for (; i + 2 * kLanes<T> <= size; i += 2 * kLanes<T>) {
    even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
    odd = hn::MulAdd(hn::LoadU(d, a + i + kLanes<T>), hn::LoadU(d, b + i + kLanes<T>), odd);
  }
  if (i < size) even = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), even);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

/// Some keys with their values.
template <class T>
struct Keys {
  Rows<T> k, v;
  Index count;
};

template <class T>
Keys<T> keys_of(const Recurrence<T>& in, Index first, Index count, Scratch<T>& scratch) {
  return {rows_of(in.k, first, count, in.map, in.mask, scratch),
          rows_of(in.v, first, count, Map<T>(), in.mask, scratch), count};
}

/// Rows of a product between which lines are asked for, and how many.
constexpr Index kRowsBetween = 12, kLines = 40;

/// The state takes some keys.
template <class T>
void store(const Recurrence<T>& in, const Keys<T>& keys, State<T> state, Ahead<T>& ahead) {
  const Lanes<T> d;
  for (Index a = 0; a < state.features; a += kRowsBetween) {
    ahead.some(kLines);
    product<T, Onto::sum>(std::min(kRowsBetween, state.features - a), state.width / kLanes<T>, keys.count,
                          keys.k.data + a, 1, keys.k.stride, keys.v.data, keys.v.stride, state.S + a * state.width,
                          state.width);
  }
  if (!in.normalised) return;
  for (Index a = 0; a < state.z_size; a += kLanes<T>) {
    auto sum = hn::LoadU(d, state.z() + a);
    for (Index j = 0; j < keys.count; ++j) sum = hn::Add(sum, hn::LoadU(d, keys.k.data + j * keys.k.stride + a));
    hn::StoreU(sum, d, state.z() + a);
  }
}

/// The answers to a tile of queries: numerators in rows, denominators.
template <class T>
class Answers {
public:
  static Index size(Index features, Index width, Index tile) {
    return tile * whole_vectors<T>(features) + tile * width + whole_vectors<T>(tile) + tile * pair_stride(tile) +
           features * whole_vectors<T>(tile);
  }

  Answers(const Recurrence<T>& in, Index first, Index count, Index tile, State<T> state, Scratch<T>& scratch,
          Ahead<T>* ahead = nullptr)
      : in_(in), first_(first), count_(count), features_(in.k.extent(1)), width_(state.width) {
    q_ = rows_of(in.q, first, count, in.map, {}, scratch);
    in_place_ = in.o.stride(1) == 1 && in.o.extent(1) == width_;
    stride_ = in_place_ ? in.o.stride(0) : width_;
    o_ = in_place_ ? in.o.data() + first * stride_ : scratch.take(count * width_);
    sum_ = scratch.take(count);
    pairs_ = scratch.take(tile * pair_stride(tile));
    transposed_ = scratch.take(features_ * whole_vectors<T>(tile));
    // what the state answers
    for (Index i = 0; i < count; i += kRowsBetween) {
      if (ahead) ahead->some(kLines);
      product<T, Onto::nothing>(std::min(kRowsBetween, count - i), width_ / kLanes<T>, features_,
                                q_.data + i * q_.stride, q_.stride, 1, state.S, width_, o_ + i * stride_, stride_);
    }
    if (in.normalised)
      for (Index i = 0; i < count; ++i) sum_[i] = dot(q_.data + i * q_.stride, state.z(), state.z_size);
  }

  /// Some keys add to the answers; those of the past are the queries' own tokens.
  void see(const Keys<T>& keys, bool past) {
    const Index stride = pair_stride(keys.count);
    pair(keys, past, stride);
    const auto visible = [&](Index i) { return past ? i + 1 : keys.count; };
    const Lanes<T> d;
    for (Index i = 0; i < count_; ++i)
      for (Index zero = 0; zero < kZeros; zero += kLanes<T>)
        hn::StoreU(hn::Zero(d), d, pairs_ + i * stride + visible(i) + zero);
    if (in_.normalised)  // in a loop of its own: what is loaded was not stored a moment ago, in parts
      for (Index i = 0; i < count_; ++i) {
        auto sum = hn::Zero(d);
        for (Index j = 0; j < visible(i); j += kLanes<T>) sum = hn::Add(sum, hn::LoadU(d, pairs_ + i * stride + j));
        sum_[i] += hn::GetLane(hn::SumOfLanes(d, sum));
      }
    const auto add = [&](Index i, Index rows, auto depth) HWY_ATTR {
      product<T, Onto::sum>(rows, width_ / kLanes<T>, depth, pairs_ + i * stride, stride, 1, keys.v.data, keys.v.stride,
                            o_ + i * stride_, stride_);
    };
    if (!past)
      add(0, count_, keys.count);
    else if (finite(keys.v, keys.count, width_))
      add(0, count_, [&](Index end) { return std::min(end, keys.count); });
    else  // 0 times what is hidden would be NaN
      for (Index i = 0; i < count_; ++i) add(i, 1, i + 1);
  }

  void finish() const {
    const Lanes<T> d;
    for (Index i = 0; i < count_; ++i) {
      T* row = o_ + i * stride_;
      if (in_.normalised) {
        const T sum = sum_[i] + in_.eps;
        if (in_.denominators) in_.denominators(first_ + i) = sum;
        if (sum == 0)
          std::fill_n(row, width_, in_.undefined);
        else
          for (Index b = 0; b < width_; b += kLanes<T>)
            hn::StoreU(hn::Div(hn::LoadU(d, row + b), all(sum)), d, row + b);
      }
      if (!in_place_)
        for (Index b = 0; b < in_.o.extent(1); ++b) in_.o(first_ + i, b) = row[b];
    }
  }

private:
  static Index pair_stride(Index keys) { return whole_vectors<T>(keys) + std::max(kZeros, kLanes<T>); }

  /// Products of queries and keys in rows, of the past at least those that are seen.
  void pair(const Keys<T>& keys, bool past, Index stride) {
    if (keys.count == 1) {
      for (Index i = 0; i < count_; ++i)
        pairs_[i * stride] = dot(q_.data + i * q_.stride, keys.k.data, whole_vectors<T>(features_));
      return;
    }
    const Index step = whole_vectors<T>(keys.count);
    each_column(keys.k.data, keys.k.stride, keys.count, features_, [&](Index a, Index first, Vector<T> lanes) HWY_ATTR {
      hn::StoreU(lanes, Lanes<T>(), transposed_ + a * step + first);
    });
    const Index rows = past ? std::max<Index>(kLanes<T>, 8) : count_;
    for (Index i = 0; i < count_; i += rows) {
      const Index some = std::min(rows, count_ - i);
      product<T, Onto::nothing>(some, (past ? whole_vectors<T>(i + some) : step) / kLanes<T>, features_,
                                q_.data + i * q_.stride, q_.stride, 1, transposed_, step, pairs_ + i * stride, stride);
    }
  }

  const Recurrence<T>& in_;
  const Index first_, count_, features_, width_;
  Rows<T> q_{};
  bool in_place_ = false;
  Index stride_ = 0;
  T *o_ = nullptr, *sum_ = nullptr, *pairs_ = nullptr, *transposed_ = nullptr;
};

template <class T>
Index scratch_size(const Recurrence<T>& in, Index tile) {
  const Index c = in.k.extent(1), width = whole_vectors<T>(in.v.extent(1));
  return Answers<T>::size(c, width, tile) + tile * (whole_vectors<T>(c) + width);
}

template <class T>
void walk(const Recurrence<T>& in, Index first, Index count, Index tile, bool answer, bool keep, State<T> state,
          T* data) {
  for (Index at = first; at < first + count; at += tile) {
    Scratch<T> scratch(data);
    const Index tokens = std::min(tile, first + count - at);
    Ahead<T> ahead(in, at + tokens, tokens, answer);
    const Keys<T> keys = keys_of(in, at, tokens, scratch);
    if (answer) {
      Answers<T> answers(in, at, tokens, tile, state, scratch, &ahead);
      answers.see(keys, true);
      answers.finish();
    }
    if (keep || at + tokens < first + count) store(in, keys, state, ahead);
  }
}

template <class T>
void answer(const Recurrence<T>& in, Index first, Index count, Index tile, See see, State<T> state, T* data) {
  Scratch<T> scratch(data);
  Answers<T> answers(in, first, count, tile, state, scratch);
  const auto meet = [&](Index key, Index keys, bool past) {
    Scratch<T> rest = scratch;
    answers.see(keys_of(in, key, keys, rest), past);
  };
  if (see != See::nothing) {
    const Index end = see == See::past ? first : in.k.extent(0);
    for (Index key = 0; key < end; key += tile) meet(key, std::min(tile, end - key), false);
    if (see == See::past) meet(first, count, true);
  }
  answers.finish();
}

/// Inclusive prefix sums of `count` rows over a balanced tree: up to the root, then down to the places between. A sum
/// of n terms passes through 2 log2 n additions.
template <class T>
void prefix_sums(T* x, Index count, Index size) {
  const Lanes<T> d;
  const auto add = [&](Index to, Index from) HWY_ATTR {
    for (Index a = 0; a < size; a += kLanes<T>)
      hn::StoreU(hn::Add(hn::LoadU(d, x + to * size + a), hn::LoadU(d, x + from * size + a)), d, x + to * size + a);
  };
  Index reach = 1;
  for (; 2 * reach <= count; reach *= 2)
    for (Index t = 2 * reach - 1; t < count; t += 2 * reach) add(t, t - reach);
  for (reach /= 2; reach >= 1; reach /= 2)
    for (Index t = 3 * reach - 1; t < count; t += 2 * reach) add(t, t - reach);
}

template <class T>
Index scan_size(const Recurrence<T>& in) {
  const Index n = in.k.extent(0), c = in.k.extent(1), features = whole_vectors<T>(c);
  return n * (2 * features + kLanes<T>)+(n + 1) * (c * kLanes<T> + features);
}

template <class T>
void scan(const Recurrence<T>& in, Index column, State<T> state, T* data) {
  const Lanes<T> d;
  Scratch<T> scratch(data);
  const Index n = in.k.extent(0), c = in.k.extent(1), size = c * kLanes<T>;
  const Index columns = std::min(kLanes<T>, in.v.extent(1) - column);
  const Rows<T> q = rows_of(in.q, 0, n, in.map, {}, scratch), k = rows_of(in.k, 0, n, in.map, {}, scratch),
                v = rows_of(in.v.columns(column, columns), 0, n, Map<T>(), {}, scratch);
  T *sums = scratch.take((n + 1) * size), *z = scratch.take((n + 1) * state.z_size);
  for (Index a = 0; a < c; ++a) hn::StoreU(hn::LoadU(d, state.S + a * state.width + column), d, sums + a * kLanes<T>);
  std::copy_n(state.z(), state.z_size, z);
  for (Index i = 0; i < n; ++i) {
    const auto value = hn::LoadU(d, v.data + i * v.stride);
    for (Index a = 0; a < c; ++a)
      hn::StoreU(hn::Mul(all(k.data[i * k.stride + a]), value), d, sums + (i + 1) * size + a * kLanes<T>);
    std::copy_n(k.data + i * k.stride, state.z_size, z + (i + 1) * state.z_size);
  }
  prefix_sums(sums, n + 1, size);
  prefix_sums(z, n + 1, state.z_size);
  for (Index i = 0; i < n; ++i) {
    const T *before = sums + (i + 1) * size, *query = q.data + i * q.stride;
    auto even = hn::Zero(d), odd = hn::Zero(d);
    Index a = 0;
    for (; a + 2 <= c; a += 2) {
      even = hn::MulAdd(all(query[a]), hn::LoadU(d, before + a * kLanes<T>), even);
      odd = hn::MulAdd(all(query[a + 1]), hn::LoadU(d, before + (a + 1) * kLanes<T>), odd);
    }
    if (a < c) even = hn::MulAdd(all(query[a]), hn::LoadU(d, before + a * kLanes<T>), even);
    auto numerator = hn::Add(even, odd);
    if (in.normalised) {
      const T sum = dot(query, z + (i + 1) * state.z_size, state.z_size) + in.eps;
      numerator = sum == 0 ? all(in.undefined) : hn::Div(numerator, all(sum));
    }
    HWY_ALIGN T lanes[kLanes<T>];
    hn::Store(numerator, d, lanes);
    for (Index b = 0; b < columns; ++b) in.o(i, column + b) = lanes[b];
  }
  for (Index a = 0; a < c; ++a)
    hn::StoreU(hn::LoadU(d, sums + n * size + a * kLanes<T>), d, state.S + a * state.width + column);
  if (column == 0 && in.z_after)  // the others read the state's z
    for (Index a = 0; a < c; ++a) in.z_after(a) = z[n * state.z_size + a];
}

template <class T>
Index step_size(const Recurrence<T>& in) {
  return 3 * whole_vectors<T>(in.k.extent(1));
}

/// The state after, in `Width` vectors of columns from `first` on, and the answer of both or of the state before.
template <class T, int Width>
HWY_INLINE void step_columns(const Recurrence<T>& in, const T* q, const T* k, bool read_first, T product_qk, T sum,
                             Index first) {
  const Lanes<T> d;
  const T* before = in.S.data() + first;
  T* after = in.S_after.data() + first;
  Vector<T> v[Width], numerator[Width];
  for (int w = 0; w < Width; ++w) {
    v[w] = hn::LoadU(d, in.v.data() + first + w * kLanes<T>);
    numerator[w] = read_first ? hn::Mul(all(product_qk), v[w]) : hn::Zero(d);
  }
  for (Index a = 0; a < in.k.extent(1); ++a) {
    const auto query = all(q[a]), key = all(k[a]);
    for (int w = 0; w < Width; ++w) {
      const auto old = hn::LoadU(d, before + a * in.S.stride(0) + w * kLanes<T>);
      const auto next = hn::MulAdd(key, v[w], old);
      hn::StoreU(next, d, after + a * in.S_after.stride(0) + w * kLanes<T>);
      numerator[w] = hn::MulAdd(query, read_first ? old : next, numerator[w]);
    }
  }
  for (int w = 0; w < Width; ++w)
    hn::StoreU(sum == 0 ? all(in.undefined) : hn::Div(numerator[w], all(sum)), d, in.o.data() + first + w * kLanes<T>);
}

template <class T>
void step(const Recurrence<T>& in, bool read_first, Index first, Index count, T* data) {
  Scratch<T> scratch(data);
  const Index c = in.k.extent(1), padded = whole_vectors<T>(c), end = first + count;
  const T *q = rows_of(in.q, 0, 1, in.map, {}, scratch).data, *k = rows_of(in.k, 0, 1, in.map, {}, scratch).data;
  const T* z = rows_of(View<const T, 2>(in.z.data(), {1, c}, {c, in.z.stride(0)}), 0, 1, Map<T>(), {}, scratch).data;
  const T product_qk = dot(q, k, padded), sum = dot(q, z, padded) + product_qk + in.eps;
  if (first == 0)
    for (Index a = 0; a < c; ++a) in.z_after(a) = z[a] + k[a];
  Index b = first;
  if (in.S.stride(1) == 1 && in.S_after.stride(1) == 1 && in.v.stride(1) == 1 && in.o.stride(1) == 1) {
    for (; b + 4 * kLanes<T> <= end; b += 4 * kLanes<T>) step_columns<T, 4>(in, q, k, read_first, product_qk, sum, b);
    for (; b + kLanes<T> <= end; b += kLanes<T>) step_columns<T, 1>(in, q, k, read_first, product_qk, sum, b);
  }
  for (; b < end; ++b) {
    const T v = in.v(0, b);
    T numerator = read_first ? product_qk * v : T(0);
    for (Index a = 0; a < c; ++a) {
      const T old = in.S(a, b), next = old + k[a] * v;
      in.S_after(a, b) = next;
      numerator += q[a] * (read_first ? old : next);
    }
    in.o(0, b) = sum == 0 ? in.undefined : numerator / sum;
  }
}

/// f(a) for every element of a row, `vectors(a)` for every whole vector if `side_by_side`.
template <class T, class V, class F>
HWY_INLINE void each_channel(Index width, bool side_by_side, V&& vectors, F&& f) {
  Index a = 0;
  if (side_by_side)
    for (; a + kLanes<T> <= width; a += kLanes<T>) vectors(a);
  for (; a < width; ++a) f(a);
}

template <class T>
void cotangents(View<const T, 2> grad_o, View<T, 2> o, View<T, 1> denominators) {
  const Lanes<T> d;
  const Index m = o.extent(1);
  const bool side_by_side = grad_o.stride(1) == 1;
  for (Index i = 0; i < o.extent(0); ++i) {
    T &e = denominators(i), *row = o.data() + i * o.stride(0), rest = 0;
    const T denominator = e, *from = grad_o.data() + i * grad_o.stride(0);
    if (denominator == 0) {
      std::fill_n(row, m, T(0));
      continue;
    }
    auto sum = hn::Zero(d);
    each_channel<T>(
        m, side_by_side,
        [&](Index b) HWY_ATTR {
          const auto g = hn::Div(hn::LoadU(d, from + b), all(denominator));
          sum = hn::MulAdd(g, hn::LoadU(d, row + b), sum);
          hn::StoreU(g, d, row + b);
        },
        [&](Index b) {
          const T g = from[b * grad_o.stride(1)] / denominator;
          rest += g * row[b];
          row[b] = g;
        });
    e = -(hn::GetLane(hn::SumOfLanes(d, sum)) + rest);
  }
}

template <class T>
void share(View<const T, 1> e, View<const T, 2> x, View<T, 2> y, bool weighted, T* sum) {
  const Lanes<T> d;
  const Index width = x.extent(1);
  const bool side_by_side = x.stride(1) == 1 && y.stride(1) == 1;
  std::fill_n(sum, width, T(0));
  for (Index i = 0; i < x.extent(0); ++i) {
    const T factor = e(i), inside = weighted ? factor : T(1), outside = weighted ? T(1) : factor;
    const T* from = x.data() + i * x.stride(0);
    T* to = y.data() + i * y.stride(0);
    each_channel<T>(
        width, side_by_side,
        [&](Index a) HWY_ATTR {
          const auto total = hn::MulAdd(all(inside), hn::LoadU(d, from + a), hn::LoadU(d, sum + a));
          hn::StoreU(total, d, sum + a);
          hn::StoreU(hn::MulAdd(all(outside), total, hn::LoadU(d, to + a)), d, to + a);
        },
        [&](Index a) {
          sum[a] += inside * from[a * x.stride(1)];
          to[a * y.stride(1)] += outside * sum[a];
        });
  }
}

template <class T>
inline const RecurLeaves<T> recur_leaves{kLanes<T>, scratch_size<T>, walk<T>, answer<T>,     scan_size<T>,
                                         scan<T>,   step_size<T>,    step<T>, cotangents<T>, share<T>};

}  // namespace attest::openmp::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
