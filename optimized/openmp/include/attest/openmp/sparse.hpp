// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tasks.hpp"

/// Shared by the kernels whose queries see sets of keys.
namespace attest::openmp::sparse {

using Keys = std::vector<Index>;

inline constexpr Index kEnoughRows = 16;  ///< queries from which on threads pay

/// The output of a query that sees nothing.
template <class I>
engine::Empty empty_of([[maybe_unused]] const I& in) {
  if constexpr (requires { in.empty_row; })
    if (in.empty_row == decltype(in.empty_row)::nan) return engine::Empty::nan;
  return engine::Empty::zero;
}

template <class I>
Index block_of([[maybe_unused]] const I& in) {
  if constexpr (requires { in.block; }) return in.block;
  return engine::Forward<float>{}.block;
}

/// Attention under the mask that mark(i, row) makes of a row of zeros.
template <class T, class I, class O, class F>
void over_marks(const I& in, const O& out, engine::Schedule schedule, F&& mark) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const auto visible = std::make_unique<bool[]>(static_cast<std::size_t>(n * s));
  for (Index i = 0; i < n; ++i) mark(i, visible.get() + i * s);
  engine::attend({.q = in.q,
                  .k = in.k,
                  .v = in.v,
                  .scale = attention::scale_of<T>(in),
                  .mask = View<const bool, 2>{visible.get(), {n, s}}},
                 {.schedule = schedule, .block = block_of(in), .empty = empty_of(in), .o = out.o});
}

/// The same, of the pairs that sees(i, j) shows.
template <class T, class I, class O, class F>
void over_mask(const I& in, const O& out, engine::Schedule schedule, F&& sees) {
  over_marks<T>(in, out, schedule, [&, s = in.k.extent(0)](Index i, bool* row) {
    for (Index j = 0; j < s; ++j) row[j] = sees(i, j);
  });
}

/// Those rows of a matrix.
template <class T>
RowMajor<T> gathered(const View<const T, 2>& x, const Keys& rows) {
  RowMajor<T> some(static_cast<Index>(rows.size()), x.extent(1));
  for (Index t = 0; t < some.rows(); ++t) some.row(t) = vector(x[rows[static_cast<std::size_t>(t)]]).transpose();
  return some;
}

/// Attention of each query to the keys of set(i), in ascending order, gathered side by side.
template <class T, class I, class O, class S>
void over_sets(const I& in, const O& out, engine::Schedule schedule, S&& set) {
  const T scale = attention::scale_of<T>(in);
  each_task(in.q.extent(0), in.q.extent(0) >= kEnoughRows, [&](Index i) {
    const Keys keys = set(i);
    const RowMajor<T> k = gathered<T>(in.k, keys), v = gathered<T>(in.v, keys);
    engine::attend({.q = in.q.rows(i, 1), .k = view(k), .v = view(v), .scale = scale},
                   {.schedule = schedule, .empty = empty_of(in), .o = out.o.rows(i, 1)});
  });
}

/// Whole numbers from first on.
inline Keys consecutive(Index first, Index count) {
  Keys all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Some queries, to those of the keys that sees(i, j) shows.
template <class T, class I, class O, class F>
void over_keys(const I& in, const O& out, const Keys& queries, const Keys& keys, F&& sees) {
  const auto n = static_cast<Index>(queries.size()), s = static_cast<Index>(keys.size());
  const RowMajor<T> q = gathered<T>(in.q, queries), k = gathered<T>(in.k, keys), v = gathered<T>(in.v, keys);
  RowMajor<T> o(n, in.v.extent(1));
  const auto visible = std::make_unique<bool[]>(static_cast<std::size_t>(n * s));
  for (Index i = 0; i < n; ++i)
    for (Index t = 0; t < s; ++t)
      visible[static_cast<std::size_t>(i * s + t)] =
          sees(queries[static_cast<std::size_t>(i)], keys[static_cast<std::size_t>(t)]);
  engine::attend({.q = view(q),
                  .k = view(k),
                  .v = view(v),
                  .scale = attention::scale_of<T>(in),
                  .mask = View<const bool, 2>{visible.get(), {n, s}}},
                 {.o = view(o)});
  for (Index i = 0; i < n; ++i) vector(out.o[queries[static_cast<std::size_t>(i)]]) = o.row(i).transpose();
}

/// Rows first, first + step ... of a matrix.
template <class X>
View<X, 2> every(const View<X, 2>& x, Index first, Index step) {
  const Index rows = (x.extent(0) - first + step - 1) / step;
  return {x.data() + first * x.stride(0), {rows, x.extent(1)}, {step * x.stride(0), x.stride(1)}};
}

/// The keys of [first, end) that sees(j) shows.
template <class F>
Keys keys_of(Index first, Index end, F&& sees) {
  Keys keys;
  for (Index j = first; j < end; ++j)
    if (sees(j)) keys.push_back(j);
  return keys;
}

/// Ascending, each key once.
inline Keys distinct(Keys keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace attest::openmp::sparse
