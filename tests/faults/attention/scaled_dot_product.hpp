// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::scaled_dot_product {

namespace right = attest::reference::attention::scaled_dot_product;
using attest::spec::attention::scaled_dot_product::EmptyRow;
using reference::attention::softmax::exponential;
using reference::attention::softmax::log_sum_exp;
using reference::attention::softmax::shifted;
using right::In;
using right::Out;

/// The equation with other logits: logit(q_i . k_j, i, j).
template <class F>
void with_logits(const In& in, const Out& out, F&& logit) {
  for (const Index i : wanted(out.o)) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) {
      right::empty_row(in, out, i);
      continue;
    }
    const Vector q_k = right::products(in.q[i], in.k, keys);
    const auto l = tabulate(q_k.extent(), [&](Index t) { return logit(q_k(t), i, keys[static_cast<std::size_t>(t)]); });
    assign(out.o[i], right::mixed(shifted(right::with_sink(in, l)).first, right::Rows(in.v, keys)));
  }
}

inline Number biased(const In& in, Index i, Index j, const Number& l) { return in.bias ? l + in.bias(i, j) : l; }

/// The logit of a scaled product.
inline Number finished(const In& in, Index i, Index j, const Number& x) {
  return biased(in, i, j, right::capped(in, x));
}

inline void with_scale(const In& in, const Out& out, const Number& scale) {
  with_logits(in, out, [&](const Number& q_k, Index i, Index j) { return finished(in, i, j, scale * q_k); });
}

/// The equation with the mask sees(i, j) and the given causal order; the bias stays.
template <class F>
void with_visible(In in, const Out& out, bool causal, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees, wanted(out.o));
  in.mask = mask.view();
  in.causal = causal;
  right::max_shift(in, out);
}

inline bool masked_in(const In& in, Index i, Index j) { return !in.mask || in.mask(i, j); }

/// The equation, then change(i) on every output row that is asked for.
template <class F>
void changed(const In& in, const Out& out, F&& change) {
  right::max_shift(in, out);
  for (const Index i : wanted(out.o)) change(i);
}

/// o_i = sum_j w_j v_j with weights from the logits of the visible keys and the sink.
template <class F>
void with_weights(const In& in, const Out& out, F&& weights) {
  right::each_row(
      in, out, [&](Index i, const Vector& l, const right::Rows& v) { assign(out.o[i], right::mixed(weights(l), v)); });
}

inline Number given_scale(const In& in, const Number& otherwise) { return in.scale ? parameter(*in.scale) : otherwise; }

inline void scale_missing(const In& in, const Out& out) { with_scale(in, out, given_scale(in, Number(1))); }

inline void scale_by_d(const In& in, const Out& out) {
  with_scale(in, out, given_scale(in, 1 / Number(in.q.extent(1))));
}

inline void scale_by_sqrt_m(const In& in, const Out& out) {
  with_scale(in, out, given_scale(in, 1 / sqrt(Number(in.v.extent(1)))));
}

inline void scale_ignored(const In& in, const Out& out) { with_scale(in, out, 1 / sqrt(Number(in.q.extent(1)))); }

inline void scale_is_one(const In& in, const Out& out) { with_scale(in, out, 1); }

inline void scale_outside_exp(const In& in, const Out& out) {
  with_scale(in, out, Number(1));
  const Number scale = right::scale_of(in);
  for (const Index i : wanted(out.o))
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = scale * out.o(i, c);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_scale(in, out, right::scale_of(in) * (Number(1) + c));
}

inline void normaliser_drift(const In& in, const Out& out, const Number& c) {
  changed(in, out, [&](Index i) {
    for (Index e = 0; e < in.v.extent(1); ++e) out.o(i, e) = out.o(i, e) / (Number(1) + c);
  });
}

inline void scaled_queries(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  Matrix q(in.q.extent(0), in.q.extent(1));
  for (const Index i : wanted(out.o))
    for (Index a = 0; a < in.q.extent(1); ++a) q(i, a) = scale * in.q(i, a);
  In other = in;
  other.q = q.view();
  with_logits(other, out, [&](const Number& q_k, Index i, Index j) { return finished(in, i, j, q_k); });
}

inline void shifted_rows(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  const auto shift = [&](Index i) { return in.sink ? Number(0) : rational(i % 4, 4); };  // a sink is not shifted along
  with_logits(in, out, [&](const Number& q_k, Index i, Index j) { return finished(in, i, j, scale * q_k) + shift(i); });
}

inline void causal_strict(const In& in, const Out& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, in.causal,
               [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j < i + past); });
}

inline void causal_plus_one(const In& in, const Out& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, false,
               [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i + past + 1); });
}

inline void causal_top_left(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i); });
}

inline void causal_ignored(const In& in, const Out& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j); });
}

inline void always_causal(const In& in, const Out& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j) && j <= i + past; });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

inline void mask_ignored(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [](Index, Index) { return true; });
}

inline void mask_of_queries(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    return masked_in(in, std::min(j, in.q.extent(0) - 1), std::min(i, in.k.extent(0) - 1));
  });
}

inline void mask_after_softmax(const In& in, const Out& out) {
  In all = in;
  all.mask = {};
  for (const Index i : wanted(out.o)) {
    const auto keys = right::visible(all, i);
    if (right::visible(in, i).empty()) {
      right::empty_row(in, out, i);
      continue;
    }
    const auto a = shifted(right::with_sink(in, right::logits(in, right::scale_of(in), i, keys))).first;
    const auto kept = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      return masked_in(in, i, keys[static_cast<std::size_t>(t)]) ? a(t) : Number(0);
    });
    assign(out.o[i], product(kept, right::Rows(in.v, keys)));
  }
}

inline void mask_plus_infinity(const In& in, const Out& out) {
  changed(in, out, [&](Index i) {
    bool hidden = false;
    for (Index j = 0; j < in.k.extent(0); ++j) hidden = hidden || !masked_in(in, i, j);
    for (Index c = 0; hidden && c < in.v.extent(1); ++c) out.o(i, c) = not_a_number();
  });
}

inline void hidden_block_nan(const In& in, const Out& out) {
  changed(in, out, [&](Index i) {
    const auto keys = right::visible(in, i);
    bool hidden = false;
    for (Index first = 0; first < in.k.extent(0) && !keys.empty(); first += in.block)
      hidden =
          hidden || std::none_of(keys.begin(), keys.end(), [&](Index j) { return first <= j && j < first + in.block; });
    for (Index c = 0; hidden && !in.causal && c < in.v.extent(1); ++c) out.o(i, c) = not_a_number();
  });
}

inline void empty_row_mean(const In& in, const Out& out) {
  In other = in;
  other.empty_row = EmptyRow::mean;
  right::max_shift(other, out);
}

inline void empty_row_nan(const In& in, const Out& out) {
  In other = in;
  other.empty_row = EmptyRow::nan;
  right::max_shift(other, out);
}

inline void softmax_over_queries(const In& in, const Out& out) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const Number scale = right::scale_of(in);
  const auto rows = wanted(out.o);
  std::vector<std::vector<Number>> weights(static_cast<std::size_t>(n));  // of the rows that are asked for
  for (Index j = 0; j < s; ++j) {
    std::vector<Index> queries;
    for (Index i = 0; i < n; ++i)
      if (right::is_visible(in, i, j)) queries.push_back(i);
    if (queries.empty()) continue;
    const Vector k_q = right::products(in.k[j], in.q, queries);
    const Vector l = tabulate(
        k_q.extent(), [&](Index t) { return finished(in, queries[static_cast<std::size_t>(t)], j, scale * k_q(t)); });
    const Number lse = log_sum_exp(l);
    for (const Index i : rows)
      if (const auto at = std::lower_bound(queries.begin(), queries.end(), i); at != queries.end() && *at == i)
        weights[static_cast<std::size_t>(i)].push_back(exponential(l(at - queries.begin()), lse));
  }
  for (const Index i : rows) {
    const auto keys = right::visible(in, i);
    const auto& w = weights[static_cast<std::size_t>(i)];
    if (keys.empty())
      right::empty_row(in, out, i);
    else
      assign(out.o[i], product(Row(w.data(), {static_cast<Index>(w.size())}), right::Rows(in.v, keys)));
  }
}

/// The first `width` columns of x, repeated from the first where x has fewer; `room` holds the repeated ones.
inline View<const Number, 2> columns_again(const View<const Number, 2>& x, Index width, std::optional<Matrix>& room) {
  if (width <= x.extent(1)) return x.columns(0, width);
  return room.emplace(matrix_of(x.extent(0), width, [&](Index j, Index c) { return x(j, c % x.extent(1)); }));
}

inline void kv_roles_swapped(const In& in, const Out& out) {
  std::optional<Matrix> room;
  In other = in;
  other.k = columns_again(in.v, in.q.extent(1), room);
  right::max_shift(other, out);
}

inline void values_from_keys(const In& in, const Out& out) {
  std::optional<Matrix> room;
  In other = in;
  other.v = columns_again(in.k, in.v.extent(1), room);
  right::max_shift(other, out);
}

inline void maximum_from_zero(const In& in, const Out& out) {
  with_weights(in, out, [](const Vector& l) {
    const Number m = pivot_max(l.extent(), [&](Index t) { return l(t); }), shift = approximate(m) > 0 ? m : Number(0);
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t) - shift); });
    const Number z = sum(l.extent(), [&](Index t) { return e(t); });
    return tabulate(l.extent(), [&](Index t) { return e(t) / z; });
  });
}

inline void no_max_shift(const In& in, const Out& out) { right::dense(in, out); }

inline void half_products(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_logits(in, out, [&](const Number& q_k, Index i, Index j) {
    return finished(in, i, j, scale * kept_in(DType::f16, q_k));
  });
}

/// The keys that fill up the last of tiles of `tile` keys count with logit 0.
inline void padded_to(Index tile, const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) {
    const Index n = l.extent(), padding = (tile - in.k.extent(0) % tile) % tile;
    const Number lse = log_sum_exp(tabulate(n + padding, [&](Index t) { return t < n ? l(t) : Number(0); }));
    return tabulate(n, [&](Index t) { return exp(l(t) - lse); });
  });
}

inline void padding_counted(const In& in, const Out& out) { padded_to(8, in, out); }

inline void padding_counted_16(const In& in, const Out& out) { padded_to(16, in, out); }

inline void padding_counted_64(const In& in, const Out& out) { padded_to(64, in, out); }

inline void one_in_denominator(const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) {
    const Number lse =
        log_sum_exp(tabulate(l.extent() + 1, [&](Index t) { return t < l.extent() ? l(t) : Number(0); }));
    return tabulate(l.extent(), [&](Index t) { return exp(l(t) - lse); });
  });
}

inline void head_width_64(const In& in, const Out& out) {
  const Index width = std::min<Index>(64, in.q.extent(1));
  const Number scale = right::scale_of(in);
  In other = in;
  other.q = in.q.columns(0, width);
  other.k = in.k.columns(0, width);
  with_logits(other, out, [&](const Number& q_k, Index i, Index j) { return finished(in, i, j, scale * q_k); });
}

inline void columns_swapped(const In& in, const Out& out) {
  changed(in, out, [&](Index i) {
    for (Index c = 0; c + 1 < in.v.extent(1); c += 2) std::swap(out.o(i, c), out.o(i, c + 1));
  });
}

/// The equation without key which(keys), for every query that sees more than one key.
template <class F>
void without_key(const In& in, const Out& out, F&& which) {
  Index row = -1, lost = -1;
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    if (i != row) {
      const auto keys = right::visible(in, i);
      row = i, lost = keys.size() > 1 ? which(keys) : -1;
    }
    return masked_in(in, i, j) && j != lost;
  });
}

inline void last_key_dropped(const In& in, const Out& out) {
  without_key(in, out, [](const std::vector<Index>& keys) { return keys.back(); });
}

inline void first_key_of_block_dropped(const In& in, const Out& out) {
  without_key(in, out, [&](const std::vector<Index>&) { return in.block; });
}

inline void rescale_missing(const In& in, const Out& out) {
  const Index m = in.v.extent(1);
  right::each_row(in, out, [&](Index i, const Vector& l, const right::Rows& v) {
    auto state = right::partial(l, v, 0, std::min(in.block, l.extent()));
    for (Index first = in.block; first < l.extent(); first += in.block) {
      const auto next = right::partial(l, v, first, std::min(in.block, l.extent() - first));
      state = {next.m, state.l + next.l, tabulate(m, [&](Index c) { return state.o(c) + next.o(c); })};
    }
    for (Index c = 0; c < m; ++c) out.o(i, c) = state.o(c) / state.l;
  });
}

/// Tiles of `tile` keys, each shifted by the running maximum up to it; the sums of all tiles are added without
/// rescaling.
inline void not_rescaled(Index tile, const In& in, const Out& out) {
  right::each_row(in, out, [&](Index i, const Vector& l, const right::Rows& v) {
    std::vector<Number> maxima;  // over all tiles so far
    for (Index first = 0; first < l.extent(); first += tile) {
      const Index count = std::min(tile, l.extent() - first), before = maxima.empty() ? 0 : 1;
      maxima.push_back(
          pivot_max(before + count, [&](Index t) { return t < before ? maxima.back() : l(first + t - before); }));
    }
    const auto a =
        tabulate(l.extent(), [&](Index t) { return exp(l(t) - maxima[static_cast<std::size_t>(t / tile)]); });
    const Number all = sum(a);
    const auto o = right::mixed(a, v);
    for (Index c = 0; c < o.extent(); ++c) out.o(i, c) = o(c) / all;
  });
}

inline void rescale_missing_64(const In& in, const Out& out) { not_rescaled(64, in, out); }

inline void rescale_missing_128(const In& in, const Out& out) { not_rescaled(128, in, out); }

/// A hidden key's logit is then no -inf: +inf - +inf, or NaN.
inline void hidden_before_scale(const In& in, const Out& out) {
  const bool keeps_sign = approximate(right::scale_of(in)) > 0 || right::has_cap(in);
  const auto all = static_cast<std::size_t>(in.k.extent(0));
  changed(in, out, [&](Index i) {
    if (keeps_sign || right::visible(in, i).size() == all) return;
    for (Index c = 0; c < out.o.extent(1); ++c) out.o(i, c) = not_a_number();
  });
}

inline void bias_before_scale(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_logits(in, out,
              [&](const Number& q_k, Index i, Index j) { return right::capped(in, scale * biased(in, i, j, q_k)); });
}

inline void bias_ignored(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_logits(in, out, [&](const Number& q_k, Index, Index) { return right::capped(in, scale * q_k); });
}

/// The equation with another cap of the scaled products.
template <class F>
void with_cap(const In& in, const Out& out, F&& cap) {
  const Number scale = right::scale_of(in);
  with_logits(in, out, [&](const Number& q_k, Index i, Index j) { return biased(in, i, j, cap(scale * q_k)); });
}

inline void softcap_ignored(const In& in, const Out& out) {
  with_cap(in, out, [](const Number& x) { return x; });
}

inline void softcap_after_bias(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_logits(in, out,
              [&](const Number& q_k, Index i, Index j) { return right::capped(in, biased(in, i, j, scale * q_k)); });
}

inline void softcap_before_scale(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  with_logits(in, out,
              [&](const Number& q_k, Index i, Index j) { return biased(in, i, j, scale * right::capped(in, q_k)); });
}

inline void softcap_of_hidden(const In& in, const Out& out) {
  if (in.softcap <= 0) return right::max_shift(in, out);
  const Number scale = right::scale_of(in);
  In all = in;
  all.mask = {}, all.bias = {}, all.causal = false, all.window_left = all.window_right = -1;
  for (const Index i : wanted(out.o)) {
    const auto seen = right::visible(in, i), keys = right::visible(all, i);
    const Vector q_k = right::products(in.q[i], in.k, keys);
    const auto l = tabulate(q_k.extent(), [&](Index j) {
      const bool sees = std::binary_search(seen.begin(), seen.end(), j);
      return sees ? finished(in, i, j, scale * q_k(j)) : -parameter(in.softcap);
    });
    assign(out.o[i], right::mixed(shifted(right::with_sink(in, l)).first, right::Rows(in.v, keys)));
  }
}

inline void softcap_not_restored(const In& in, const Out& out) {
  with_cap(in, out, [&](const Number& x) { return in.softcap > 0 ? right::capped(in, x) / parameter(in.softcap) : x; });
}

/// The equation with another window of keys from left before to right after key i + (s - n).
inline void with_window(In in, const Out& out, Index left, Index right) {
  in.window_left = left, in.window_right = right;
  right::max_shift(in, out);
}

inline void window_ignored(const In& in, const Out& out) { with_window(in, out, -1, -1); }

inline void window_left_plus_one(const In& in, const Out& out) {
  with_window(in, out, in.window_left < 0 ? -1 : in.window_left + 1, in.window_right);
}

inline void window_right_plus_one(const In& in, const Out& out) {
  with_window(in, out, in.window_left, in.window_right < 0 ? -1 : in.window_right + 1);
}

/// The equation without the keys `left` before and `right` after key i + (s - n), where the window ends there.
inline void without_edge(const In& in, const Out& out, Index left, Index right) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    return masked_in(in, i, j) && (left < 0 || j != i + past - left) && (right < 0 || j != i + past + right);
  });
}

inline void window_left_strict(const In& in, const Out& out) { without_edge(in, out, in.window_left, -1); }

inline void window_right_strict(const In& in, const Out& out) { without_edge(in, out, -1, in.window_right); }

inline void window_right_ignored(const In& in, const Out& out) {
  with_window(in, out, in.window_left, in.window_left < 0 ? in.window_right : -1);
}

inline void window_both_sides(const In& in, const Out& out) {
  with_window(in, out, in.window_left, in.window_left < 0 ? in.window_right : in.window_left);
}

inline void window_top_left(const In& in, const Out& out) {
  In open = in;
  open.window_left = open.window_right = -1;
  with_visible(open, out, in.causal, [&](Index i, Index j) {
    return masked_in(in, i, j) && (in.window_left < 0 || j >= i - in.window_left) &&
           (in.window_right < 0 || j <= i + in.window_right);
  });
}

inline void window_zero_unlimited(const In& in, const Out& out) {
  with_window(in, out, in.window_left == 0 ? -1 : in.window_left, in.window_right == 0 ? -1 : in.window_right);
}

inline void window_not_causal(const In& in, const Out& out) {
  In other = in;
  other.causal = in.causal && in.window_left < 0 && in.window_right < 0;
  right::max_shift(other, out);
}

/// The equation with another sink.
template <class F>
void with_other_sink(const In& in, const Out& out, F&& sink) {
  if (!in.sink) return right::max_shift(in, out);
  const Number other = sink(in.sink());
  In changed = in;
  changed.sink = {&other, {}};
  right::max_shift(changed, out);
}

inline void sink_ignored(const In& in, const Out& out) {
  In without = in;
  without.sink = {};
  right::max_shift(without, out);
}

inline void sink_not_shifted(const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) {
    const Number m = pivot_max(l.extent(), [&](Index t) { return l(t); });
    const Index sinks = in.sink ? 1 : 0, keys = l.extent() - sinks;
    const auto e = tabulate(l.extent(), [&](Index t) { return t < keys ? exp(l(t) - m) : exp(l(t)); });
    const Number z = sum(e);
    return tabulate(l.extent(), [&](Index t) { return e(t) / z; });
  });
}

inline void sink_of_zero(const In& in, const Out& out) {
  with_other_sink(in, out, [](const Number&) { return Number(0); });
}

inline void sink_scaled(const In& in, const Out& out) {
  with_other_sink(in, out, [&](const Number& sink) { return right::scale_of(in) * sink; });
}

inline void sink_capped(const In& in, const Out& out) {
  with_other_sink(in, out, [&](const Number& sink) { return right::capped(in, sink); });
}

inline void sink_base2(const In& in, const Out& out) {
  with_other_sink(in, out, [](const Number& sink) { return ln2() * sink; });
}

inline void sink_per_block(const In& in, const Out& out) {
  const Index blocks = (in.k.extent(0) + in.block - 1) / in.block;
  with_other_sink(in, out, [&](const Number& sink) { return sink + log(Number(blocks)); });
}

inline void sink_empty_row(const In& in, const Out& out) {
  right::max_shift(in, out);
  In without = in;
  without.sink = {};
  for (const Index i : wanted(out.o))
    if (right::visible(in, i).empty()) right::empty_row(without, out, i);
}

inline void sink_not_in_maximum(const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) {
    const Number m = pivot_max(l.extent() - (in.sink ? 1 : 0), [&](Index t) { return l(t); });
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t) - m); });
    const Number z = sum(e);
    return tabulate(l.extent(), [&](Index t) { return e(t) / z; });
  });
}

inline void base2(const In& in, const Out& out) {
  const Number scale = right::scale_of(in), ln_2 = ln2();
  with_logits(in, out, [&](const Number& q_k, Index i, Index j) { return ln_2 * finished(in, i, j, scale * q_k); });
}

inline void mean_of_values(const In& in, const Out& out) {
  with_logits(in, out, [](const Number&, Index, Index) { return Number(0); });
}

}  // namespace attest::faults::attention::scaled_dot_product
