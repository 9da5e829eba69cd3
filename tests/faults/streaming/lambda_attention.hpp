// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/lambda_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::lambda_attention {

namespace right = attest::reference::streaming::lambda_attention;
using reference::attention::scaled_dot_product::Rows;
using reference::attention::softmax::shifted;
using right::Cache;
using right::In;
using right::Out;
using right::Policy;
using right::Position;
using right::Scores;
using right::Tokens;
using Order = decltype(In::cache_order);

/// Faults of what keeps first and last tokens, whatever distances do to logits: D is distance(in, position, key).

/// sum_t a_t v_t over those rows, in any order.
inline Vector weighted(const Vector& a, const View<const Number, 2>& v, const std::vector<Index>& rows) {
  return tabulate(v.extent(1), [&](Index c) {
    return sum(a.extent(), [&](Index t) { return a(t) * v(rows[static_cast<std::size_t>(t)], c); });
  });
}

/// Attention to the tokens with sees(position, key), some of them `times(position, key)` times.
template <class I, class O, class D, class S, class C>
void with_tokens(const I& in, const O& out, D&& distance, S&& sees, C&& times) {
  const Tokens tokens(in);
  Scores<I> scores(in);
  const auto position_of = [&](Index t) { return tokens.positions[static_cast<std::size_t>(t)]; };
  for (const Index i : wanted(out.o)) {
    const Index position = in.seen + i;
    std::vector<Index> keys;
    for (Index t = 0; t < static_cast<Index>(tokens.positions.size()); ++t)
      for (Index copy = 0; sees(position, position_of(t)) && copy < times(position, position_of(t)); ++copy)
        keys.push_back(t);
    const auto l = scores(in.q[i], tokens.k, keys, [&](Index t) { return distance(in, position, position_of(t)); });
    assign(out.o[i], weighted(shifted(l).first, tokens.v, keys));
  }
  right::store(in, out);
}

template <class I, class O, class D, class S>
void with_visible(const I& in, const O& out, D&& distance, S&& sees) {
  with_tokens(in, out, distance, sees, [](Index, Index) { return 1; });
}

template <class I>
bool sees(const I& in, Index position, Index key, Index more = 0) {
  const Policy policy = Policy::of(in);
  return key <= position && (key < policy.sinks || position - key < std::max<Index>(1, policy.recent + more));
}

/// A cache that writes position p into row place(p); its rows are read as if each held the token that belongs there.
template <class I, class O, class D, class P>
void with_place(const I& in, const O& out, D&& distance, P&& place) {
  const Policy policy = Policy::of(in);
  Scores<I> scores(in);
  reference::streaming::window_attention::roll(in, out, [&](Cache<I>& cache, Index i) {
    const Index position = in.seen + i;
    cache.put(in, i, place(position));
    if (!is_wanted(out.o, i)) return;
    std::vector<Index> rows, keys;
    for (const Index p : policy.kept(position + 1)) {
      rows.push_back(policy.row(p, position + 1));
      keys.push_back(p);
    }
    std::vector<Index> order(rows.size());
    const Matrix k = matrix_of(static_cast<Index>(rows.size()), in.k.extent(1),
                               [&](Index t, Index c) { return cache.k(rows[static_cast<std::size_t>(t)], c); });
    for (std::size_t t = 0; t < order.size(); ++t) order[t] = static_cast<Index>(t);
    const auto l =
        scores(in.q[i], k, order, [&](Index t) { return distance(in, position, keys[static_cast<std::size_t>(t)]); });
    assign(out.o[i], weighted(shifted(l).first, cache.v, rows));
  });
}

/// All tokens share one ring: the first ones leave too.
template <class I, class O, class D>
void first_evicted(const I& in, const O& out, D&& distance) {
  with_place(in, out, distance, [&](Index p) { return p % Policy::of(in).rows(); });
}

template <class I, class O, class D>
void second_eviction(const I& in, const O& out, D&& distance) {
  with_place(in, out, distance, [&](Index p) { return p < Policy::of(in).rows() ? p : Policy::of(in).sinks; });
}

template <class I, class O, class D>
void cache_ignored(const I& in, const O& out, D&& distance) {
  with_visible(in, out, distance, [&](Index position, Index key) { return key >= in.seen && sees(in, position, key); });
}

template <class I, class O, class F>
void cache_not_written(const I& in, const O& out, F&& form) {
  form(in, out);
  Cache<I>(in).write(out);
}

/// The keys of the new cache are turned by `at(position)`.
template <class I, class O, class F>
void turn_new_keys(const I& in, const O& out, F&& at) {
  const Policy policy = Policy::of(in);
  Scores<I> scores(in);
  const Index seen = in.seen + in.k.extent(0);
  for (const Index p : policy.kept(seen))
    if (p >= in.seen) assign(out.cache_k[policy.row(p, seen)], scores.turned(in.k[p - in.seen], at(p)));
}

/// Keys are cached turned by at(position), and met by queries turned by theirs.
template <class I, class O, class F>
void cached_turned(const I& in, const O& out, F&& at) {
  const Tokens tokens(in);
  Scores<I> scores(in);
  for (const Index i : wanted(out.o)) {
    const Index position = in.seen + i;
    const auto keys = right::visible(Policy::of(in), tokens, position);
    const auto q = scores.turned(in.q[i], at(position));
    const auto l = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index key = keys[static_cast<std::size_t>(t)], p = tokens.positions[static_cast<std::size_t>(key)];
      const Row k = View<const Number, 2>(tokens.k)[key];
      return scores.logit(p < in.seen ? dot(q, k) : dot(q, scores.turned(k, at(p))), 0);
    });
    assign(out.o[i], product(shifted(l).first, Rows(tokens.v, keys)));
  }
  right::store(in, out);
  turn_new_keys(in, out, at);
}

/// The equation on an input without positions, of the other pairs, of another scale.
template <class I, class O, class F>
void without_positions(const I& in, const O& out, F&& form) {
  I other = in;
  other.position = Position::none;
  form(other, out);
}

template <class I, class O, class F>
void other_pairs(const I& in, const O& out, F&& form) {
  I other = in;
  other.pairing = decltype(in.pairing)::interleaved;
  form(other, out);
}

template <class I, class O, class F>
void order_ignored_of(const I& in, const O& out, F&& form) {
  I other = in;
  other.cache_order = Order::ring;
  form(other, out);
}

/// The equation with queries that are multiplied by `factor` and the slope with `of_slope`.
template <class I, class O, class F>
void with_factors(const I& in, const O& out, F&& form, const Number& factor, const Number& of_slope) {
  const auto q = matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return factor * in.q(i, a); });
  const Number slope = of_slope * in.slope();
  I other = in;
  other.q = q.view();
  other.slope = {&slope, {}};
  form(other, out);
}

template <class I, class O, class F>
void scale_missing_of(const I& in, const O& out, F&& form) {
  with_factors(in, out, form, in.scale ? Number(1) : sqrt(Number(in.q.extent(1))), Number(1));
}

template <class I, class O, class F>
void scale_ignored_of(const I& in, const O& out, F&& form) {
  I other = in;
  other.scale.reset();
  form(other, out);
}

// Those of this equation.

inline void no_ceiling(const In& in, const Out& out) {
  right::by_distance(in, out, [](Index position, Index key) { return position - key; });
}

inline void ceiling_minus_one(const In& in, const Out& out) {
  right::by_distance(in, out, [&](Index position, Index key) {
    return std::min(position - key, std::max<Index>(0, right::ceiling_of(in) - 1));
  });
}

inline void ceiling_on_window_only(const In& in, const Out& out) {
  right::by_distance(in, out, [&](Index position, Index key) {
    const bool near = position - key < Policy::of(in).recent;
    return near ? right::distance(in, position, key) : position - key;
  });
}

inline void key_position_clipped(const In& in, const Out& out) {
  right::by_distance(in, out,
                     [&](Index position, Index key) { return position - std::min(key, right::ceiling_of(in)); });
}

inline void no_mask(const In& in, const Out& out) {
  with_visible(in, out, right::distance, [](Index position, Index key) { return key <= position; });
}

inline void double_counted_start(const In& in, const Out& out) {
  with_tokens(
      in, out, right::distance, [&](Index position, Index key) { return sees(in, position, key); },
      [&](Index position, Index key) { return key < in.starts && position - key < Policy::of(in).recent ? 2 : 1; });
}

inline void window_l_minus_one(const In& in, const Out& out) {
  with_visible(in, out, right::distance, [&](Index position, Index key) { return sees(in, position, key, -1); });
}

inline void window_l_plus_one(const In& in, const Out& out) {
  with_visible(in, out, right::distance, [&](Index position, Index key) { return sees(in, position, key, 1); });
}

inline void starts_of_the_future(const In& in, const Out& out) {
  with_visible(
      in, out,
      [](const In& all, Index position, Index key) { return std::max<Index>(0, right::distance(all, position, key)); },
      [&](Index position, Index key) { return key < in.starts || sees(in, position, key); });
}

inline void starts_not_seen(const In& in, const Out& out) {
  with_visible(in, out, right::distance, [&](Index position, Index key) {
    return sees(in, position, key) && position - key < Policy::of(in).recent;
  });
}

inline void start_evicted(const In& in, const Out& out) { first_evicted(in, out, right::distance); }
inline void second_eviction(const In& in, const Out& out) { second_eviction(in, out, right::distance); }
inline void cache_ignored(const In& in, const Out& out) { cache_ignored(in, out, right::distance); }
inline void cache_not_written(const In& in, const Out& out) { cache_not_written(in, out, right::mask); }
inline void rotated_keys_cached(const In& in, const Out& out) {
  if (in.position != Position::rotary) return right::mask(in, out);
  cached_turned(in, out, [](Index p) { return p; });
}
inline void order_ignored(const In& in, const Out& out) { order_ignored_of(in, out, right::mask); }
inline void position_ignored(const In& in, const Out& out) { without_positions(in, out, right::mask); }
inline void pairing_ignored(const In& in, const Out& out) { other_pairs(in, out, right::mask); }
inline void slope_sign(const In& in, const Out& out) { with_factors(in, out, right::mask, Number(1), Number(-1)); }
inline void scale_missing(const In& in, const Out& out) { scale_missing_of(in, out, right::mask); }
inline void scale_ignored(const In& in, const Out& out) { scale_ignored_of(in, out, right::mask); }
inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_factors(in, out, right::mask, Number(1) + c, Number(1));
}

}  // namespace attest::faults::streaming::lambda_attention
