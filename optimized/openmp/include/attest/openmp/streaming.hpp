// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"

/// Caches of the first `sinks` and the last `recent` tokens, for the kernels of a stream.
namespace attest::openmp::streaming {

struct Policy {
  Index sinks, recent;
  bool oldest_first;

  template <class I>
  static Policy of(const I& in) {
    Index sinks = 0;
    if constexpr (requires { in.sinks; }) sinks = in.sinks;
    if constexpr (requires { in.starts; }) sinks = in.starts;
    using Order = decltype(in.cache_order);
    return {sinks, in.cache_k.extent(0) - sinks, in.cache_order == Order::oldest_first};
  }

  Index rows() const { return sinks + recent; }
  /// The rows that hold a token after `seen` tokens: the first ones.
  Index filled(Index seen) const { return std::min(seen, rows()); }
  /// The position of the t-th token that is kept.
  Index position(Index t, Index seen) const { return t < sinks ? t : t + seen - filled(seen); }
  /// The row of a kept position.
  Index row(Index p, Index seen) const {
    if (p < sinks) return p;
    return oldest_first ? p - (seen - filled(seen)) : sinks + (p - sinks) % recent;
  }
};

/// An input as it is, or rows that are made of it and kept here.
template <class T>
class Rows {
public:
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  operator View<const T, 2>() const { return view_; }
  View<const T, 2> operator()() const { return view_; }

protected:
  explicit Rows(View<const T, 2> input) : view_(input) {}
  ~Rows() = default;
  /// Takes the place of the input.
  void keep(RowMajor<T> rows) {
    rows_ = std::move(rows);
    view_ = view(std::as_const(rows_));
  }

private:
  RowMajor<T> rows_;
  View<const T, 2> view_;
};

/// What the cache holds, in order of position, and behind it the tokens of the call; no copy of these alone.
template <class T>
class Joined : public Rows<T> {
public:
  template <class I>
  Joined(const I& in, View<const T, 2> cache, View<const T, 2> x) : Rows<T>(x) {
    const Policy policy = Policy::of(in);
    const Index before = policy.filled(in.seen);
    if (before == 0) return;
    RowMajor<T> rows(before + x.extent(0), x.extent(1));
    for (Index t = 0; t < before; ++t)
      rows.row(t) = vector(cache[policy.row(policy.position(t, in.seen), in.seen)]).transpose();
    rows.bottomRows(x.extent(0)) = matrix(x);
    this->keep(std::move(rows));
  }
};

/// The cache after the call; rows that hold no token stay as they are.
template <class T, class I>
void store(const I& in, View<const T, 2> before, View<const T, 2> x, View<T, 2> after) {
  if (!after) return;
  const Policy policy = Policy::of(in);
  const Index seen = in.seen + x.extent(0), filled = policy.filled(seen);
  for (Index r = filled; r < policy.rows(); ++r) vector(after[r]) = vector(before[r]);
  for (Index t = 0; t < filled; ++t) {
    const Index p = policy.position(t, seen);
    vector(after[policy.row(p, seen)]) = p < in.seen ? vector(before[policy.row(p, in.seen)]) : vector(x[p - in.seen]);
  }
}

template <class T, class I, class O>
void store(const I& in, const O& out) {
  store<T>(in, in.cache_k, in.k, out.cache_k);
  store<T>(in, in.cache_v, in.v, out.cache_v);
}

/// Token i of the call takes the row of the oldest that is no sink.
template <class T, class I>
void write(const Policy& policy, const I& in, Index i, RowMajor<T>& k, RowMajor<T>& v) {
  const Index p = in.seen + i, row = policy.row(p, p + 1);
  if (policy.oldest_first && p >= policy.rows())
    for (Index r = policy.sinks; r + 1 < policy.rows(); ++r) k.row(r) = k.row(r + 1), v.row(r) = v.row(r + 1);
  k.row(row) = vector(in.k[i]).transpose();
  v.row(row) = vector(in.v[i]).transpose();
}

}  // namespace attest::openmp::streaming
