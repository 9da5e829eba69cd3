// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/window_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::window_attention {

namespace right = attest::reference::streaming::window_attention;
namespace plain = attest::reference::attention::scaled_dot_product;
using right::CacheOrder;
using right::In;
using right::Out;
using Cache = right::Cache<In>;
using right::Policy;
using right::Tokens;

/// The equation where the query at position t sees the key at position p if sees(t, p); 0 where it sees nothing.
template <class F>
void with_visible(const In& in, const Out& out, F&& sees) {
  const Tokens tokens(in);
  const Index n = in.q.extent(0), s = static_cast<Index>(tokens.positions.size());
  const Mask mask(
      n, s, [&](Index i, Index j) { return sees(in.seen + i, tokens.positions[static_cast<std::size_t>(j)]); },
      wanted(out.o));
  auto all = right::over(in, tokens);
  all.causal = false, all.window_left = -1, all.mask = mask.view();
  plain::max_shift(all, plain::Out{out.o});
  right::store(in, out);
}

inline Index window(const In& in) { return in.cache_k.extent(0); }

inline void window_plus_one(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return p <= t && t - p <= window(in); });
}

inline void window_minus_one(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return p <= t && t - p < std::max<Index>(1, window(in) - 1); });
}

inline void window_excludes_self(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return p < t && t - p <= window(in); });
}

inline void symmetric_window(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return std::abs(t - p) < window(in); });
}

inline void window_ignored(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return p <= t; });
}

inline void causal_ignored(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return t - p < window(in); });
}

/// The equation on other keys and values of the call's own tokens.
inline void cache_ignored(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) { return p >= in.seen && p <= t && t - p < window(in); });
}

inline void long_window_forgets(const In& in, const Out& out) {
  with_visible(in, out, [&](Index t, Index p) {
    return p <= t && t - p < window(in) && (p >= in.seen || window(in) < in.q.extent(0));
  });
}

inline void unwritten_rows_read(const In& in, const Out& out) {
  right::roll(in, out, [&](Cache& cache, Index i) {
    cache.take(in, i);
    right::read(in, out, cache, i, window(in));
  });
}

/// A cache that writes position p into row place(p), wherever it belongs.
template <class F>
void with_place(const In& in, const Out& out, F&& place) {
  right::roll(in, out, [&](Cache& cache, Index i) {
    const Index p = in.seen + i;
    cache.put(in, i, place(p));
    right::read(in, out, cache, i, Policy::of(in).filled(p + 1));
  });
}

inline void evicts_newest(const In& in, const Out& out) {
  with_place(in, out, [&](Index p) { return std::min(p, window(in) - 1); });
}

inline void second_eviction(const In& in, const Out& out) {
  with_place(in, out, [&](Index p) { return p < window(in) ? p : 0; });
}

inline void rows_of_the_call(const In& in, const Out& out) {
  with_place(in, out, [&](Index p) { return (p - in.seen) % window(in); });
}

inline void stale_slot(const In& in, const Out& out) {
  right::roll(in, out, [&](Cache& cache, Index i) {
    right::read(in, out, cache, i, Policy::of(in).filled(in.seen + i + 1));
    cache.take(in, i);
  });
}

inline void long_call_keeps_first(const In& in, const Out& out) {
  right::mask(in, out);
  const Index n = in.q.extent(0), w = window(in);
  if (n <= w) return;
  Cache cache(in);
  for (Index i = 0; i < w; ++i) cache.put(in, i, Policy::of(in).oldest_first ? i : (in.seen + i) % w);
  cache.write(out);
}

inline void cache_not_written(const In& in, const Out& out) {
  right::mask(in, out);
  Cache(in).write(out);
}

inline void order_ignored(const In& in, const Out& out) {
  In other = in;
  other.cache_order = CacheOrder::ring;
  right::mask(other, out);
}

/// The equation with another scale.
inline void with_scale(const In& in, const Out& out, const Number& scale) {
  const Tokens tokens(in);
  const auto all = right::over(in, tokens);
  for (const Index i : wanted(out.o)) {
    const auto keys = plain::visible(all, i);
    const Vector q_k = plain::products(all.q[i], all.k, keys);
    const auto l = tabulate(q_k.extent(), [&](Index t) { return scale * q_k(t); });
    assign(out.o[i], product(reference::attention::softmax::shifted(l).first, plain::Rows(all.v, keys)));
  }
  right::store(in, out);
}

inline void scale_missing(const In& in, const Out& out) {
  with_scale(in, out, in.scale ? parameter(*in.scale) : Number(1));
}

inline void scale_ignored(const In& in, const Out& out) { with_scale(in, out, 1 / sqrt(Number(in.q.extent(1)))); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_scale(in, out, plain::scale_of(in) * (Number(1) + c));
}

}  // namespace attest::faults::streaming::window_attention
