// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/streaming/window_attention.hpp"

namespace attest::reference::streaming::window_attention {

namespace plain = attention::scaled_dot_product;
using In = attest::spec::streaming::window_attention::In<Number>;
using Out = attest::spec::streaming::window_attention::Out<Number>;
using attest::spec::streaming::window_attention::CacheOrder;

/// Which tokens a cache keeps, and in which rows: the first `sinks`, and the last `recent`.
struct Policy {
  Index sinks, recent;
  bool oldest_first;

  template <class I>
  static Policy of(const I& in) {
    Index sinks = 0;
    if constexpr (requires { in.sinks; }) sinks = in.sinks;
    if constexpr (requires { in.starts; }) sinks = in.starts;
    return {sinks, in.cache_k.extent(0) - sinks, in.cache_order == CacheOrder::oldest_first};
  }

  Index rows() const { return sinks + recent; }
  /// The rows that hold a token after `seen` tokens: the first ones, in either order.
  Index filled(Index seen) const { return std::min(seen, rows()); }
  /// The positions that are kept of `seen` tokens, ascending.
  std::vector<Index> kept(Index seen) const {
    std::vector<Index> positions;
    for (Index p = 0; p < std::min(sinks, seen); ++p) positions.push_back(p);
    for (Index p = std::max(sinks, seen - recent); p < seen; ++p) positions.push_back(p);
    return positions;
  }
  /// The row of a kept position after `seen` tokens.
  Index row(Index p, Index seen) const {
    if (p < sinks) return p;
    return oldest_first ? p - std::max<Index>(0, seen - rows()) : sinks + (p - sinks) % recent;
  }
  std::vector<Index> rows_of(const std::vector<Index>& positions, Index seen) const {
    std::vector<Index> all;
    for (const Index p : positions) all.push_back(row(p, seen));
    return all;
  }
};

/// Those rows of one matrix, and behind them all of another.
class Joined {
public:
  Joined(View<const Number, 2> first, const std::vector<Index>& rows, View<const Number, 2> then) : view_(then) {
    const Index more = then.extent(0), width = then.extent(1);
    const Index count = static_cast<Index>(rows.size());
    if (count == 0) return;
    if (const double *a = first.plain(), *b = then.plain(); a && b) {
      const auto append = [&](const double* x, const View<const Number, 2>& from, Index row) {
        for (Index c = 0; c < width; ++c) plain_.push_back(x[row * from.stride(0) + c * from.stride(1)]);
      };
      for (const Index r : rows) append(a, first, r);
      for (Index r = 0; r < more; ++r) append(b, then, r);
      view_ = {plain_.data(), {count + more, width}};
    } else {
      copy_.emplace(count + more, width);
      for (Index t = 0; t < count + more; ++t)
        for (Index c = 0; c < width; ++c)
          (*copy_)(t, c) = t < count ? first(rows[static_cast<std::size_t>(t)], c) : then(t - count, c);
      view_ = std::as_const(*copy_).view();
    }
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

  operator View<const Number, 2>() const { return view_; }

private:
  std::vector<double> plain_;
  std::optional<Matrix> copy_;
  View<const Number, 2> view_;
};

/// What the cache holds, in order of position, and behind it the tokens of the call.
struct Tokens {
  std::vector<Index> positions;
  Joined k, v;

  template <class I>
  explicit Tokens(const I& in) : Tokens(in, Policy::of(in).kept(in.seen)) {}

private:
  template <class I>
  Tokens(const I& in, std::vector<Index> kept)
      : positions(kept),
        k(in.cache_k, Policy::of(in).rows_of(kept, in.seen), in.k),
        v(in.cache_v, Policy::of(in).rows_of(kept, in.seen), in.v) {
    for (Index i = 0; i < in.k.extent(0); ++i) positions.push_back(in.seen + i);
  }
};

/// The cache after the call. Rows that hold no token yet stay as they are.
template <class I, class O>
void store(const I& in, const O& out) {
  const Policy policy = Policy::of(in);
  const Index seen = in.seen + in.k.extent(0);
  const auto write = [&](const View<Number, 2>& to, const View<const Number, 2>& before,
                         const View<const Number, 2>& x) {
    if (!to) return;
    for (Index r = policy.filled(seen); r < policy.rows(); ++r)
      for (Index c = 0; c < x.extent(1); ++c) to(r, c) = before(r, c);
    for (const Index p : policy.kept(seen))
      for (Index c = 0; c < x.extent(1); ++c)
        to(policy.row(p, seen), c) = p < in.seen ? before(policy.row(p, in.seen), c) : x(p - in.seen, c);
  };
  write(out.cache_k, in.cache_k, in.k);
  write(out.cache_v, in.cache_v, in.v);
}

/// Attention over all of them, as the contract of the plain equation has it: queries and keys end together.
inline plain::In over(const In& in, const Tokens& tokens) {
  plain::In all;
  all.q = in.q, all.k = tokens.k, all.v = tokens.v, all.scale = in.scale, all.block = in.block;
  all.causal = true, all.window_left = in.cache_k.extent(0) - 1;
  return all;
}

template <class F>
void attend(const In& in, const Out& out, F&& form) {
  const Tokens tokens(in);
  form(over(in, tokens), plain::Out{out.o});
  store(in, out);
}

/// o_i = sum_j a_ij v_j over max(0, t - w + 1) <= j <= t, t = seen + i
inline void mask(const In& in, const Out& out) { attend(in, out, plain::max_shift); }

/// Blocks of keys with running maximum, sum and output.
inline void banded_blocks(const In& in, const Out& out) { attend(in, out, plain::online_blocked); }

/// The expectation of the values in the window under e^(l - lse).
inline void gather(const In& in, const Out& out) { attend(in, out, plain::per_query); }

/// A cache that tokens are written into.
template <class I>
struct Cache {
  Matrix k, v;

  explicit Cache(const I& in)
      : k(in.cache_k, in.cache_k.extent(0), in.k.extent(1)), v(in.cache_v, in.cache_v.extent(0), in.v.extent(1)) {}

  /// Token i takes the row of the oldest that is no sink.
  void take(const I& in, Index i) {
    const Policy policy = Policy::of(in);
    const Index p = in.seen + i;
    if (policy.oldest_first && p >= policy.rows())
      for (Index r = policy.sinks + 1; r < policy.rows(); ++r) move_row(r, r - 1);
    put(in, i, policy.row(p, p + 1));
  }
  void put(const I& in, Index i, Index row) {
    for (Index c = 0; c < k.extent(1); ++c) k(row, c) = in.k(i, c);
    for (Index c = 0; c < v.extent(1); ++c) v(row, c) = in.v(i, c);
  }
  /// The outputs of the same names.
  template <class O>
  void write(const O& out) const {
    for (Index r = 0; r < k.extent(0); ++r) {
      for (Index c = 0; out.cache_k && c < k.extent(1); ++c) out.cache_k(r, c) = k(r, c);
      for (Index c = 0; out.cache_v && c < v.extent(1); ++c) out.cache_v(r, c) = v(r, c);
    }
  }

private:
  void move_row(Index from, Index to) {
    for (Matrix* x : {&k, &v})
      for (Index c = 0; c < x->extent(1); ++c) (*x)(to, c) = (*x)(from, c);
  }
};

/// Token after token: step(cache, i).
template <class I, class O, class F>
void roll(const I& in, const O& out, F&& step) {
  Cache<I> cache(in);
  for (Index i = 0; i < in.q.extent(0); ++i) step(cache, i);
  cache.write(out);
}

/// o_i = attention of query i over the first rows of the cache.
inline void read(const In& in, const Out& out, const Cache<In>& cache, Index i, Index rows) {
  if (!is_wanted(out.o, i)) return;
  plain::In one;
  one.q = in.q.rows(i, 1), one.k = cache.k.view().rows(0, rows), one.v = cache.v.view().rows(0, rows);
  one.scale = in.scale;
  plain::max_shift(one, plain::Out{out.o.rows(i, 1)});
}

/// The cache takes the token, then the query attends to the rows as they lie.
inline void rolling_cache(const In& in, const Out& out) {
  roll(in, out, [&](Cache<In>& cache, Index i) {
    cache.take(in, i);
    read(in, out, cache, i, Policy::of(in).filled(in.seen + i + 1));
  });
}

}  // namespace attest::reference::streaming::window_attention
