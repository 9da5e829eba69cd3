// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/attention/scaled_dot_product.hpp"

namespace attest::reference::attention::scaled_dot_product {

using In = attest::spec::attention::scaled_dot_product::In<Number>;
using Out = attest::spec::attention::scaled_dot_product::Out<Number>;
using attest::spec::attention::scaled_dot_product::EmptyRow;

/// Whether the window around key i + (s - n) holds key j; that of an equation without windows holds all.
template <class I>
bool in_window([[maybe_unused]] const I& in, [[maybe_unused]] Index i, [[maybe_unused]] Index j) {
  if constexpr (requires { in.window_left; }) {
    const Index after = j - (i + in.k.extent(0) - in.q.extent(0));
    return (in.window_left < 0 || -after <= in.window_left) && (in.window_right < 0 || after <= in.window_right);
  } else {
    return true;
  }
}

/// Whether query i sees key j: not masked, not in the future, in the window, not hidden by a bias of -inf.
template <class I>
bool is_visible(const I& in, Index i, Index j) {
  return (!in.causal || j <= i + (in.k.extent(0) - in.q.extent(0))) && in_window(in, i, j) &&
         (!in.mask || in.mask(i, j)) && (!in.bias || !hides(in.bias(i, j)));
}

/// S_i in ascending order: the keys that query i sees.
template <class I>
std::vector<Index> visible(const I& in, Index i) {
  std::vector<Index> keys;
  for (Index j = 0; j < in.k.extent(0); ++j)
    if (is_visible(in, i, j)) keys.push_back(j);
  return keys;
}

/// The given scale, or 1/sqrt(d).
template <class I>
Number scale_of(const I& in) {
  return stage("scale", in.scale ? parameter(*in.scale) : 1 / sqrt(Number(in.q.extent(1))));
}

/// Whether those rows, in ascending order, follow each other.
inline bool consecutive(const std::vector<Index>& rows) {
  return rows.empty() || rows.back() - rows.front() + 1 == static_cast<Index>(rows.size());
}

/// q . k_j for those keys.
inline Vector products(const Row& q, const View<const Number, 2>& k, const std::vector<Index>& keys) {
  const Index count = static_cast<Index>(keys.size());
  if (consecutive(keys)) return product(q, k.rows(count == 0 ? 0 : keys.front(), count).transposed());
  return tabulate(count, [&](Index t) { return dot(q, k[keys[static_cast<std::size_t>(t)]]); });
}

/// Whether logits are capped: not where the softcap is 0 or the equation has none.
template <class I>
bool has_cap([[maybe_unused]] const I& in) {
  if constexpr (requires { in.softcap; }) return in.softcap > 0;
  return false;
}

/// softcap tanh(x / softcap), where tanh t = 2 sigma(2 t) - 1 for t > 0 and 1 - 2 sigma(-2 t) below, so that on either
/// side its derivative is right beside 1, as 1 - tanh^2 is; x where nothing is capped.
template <class I>
Number capped(const I& in, const Number& x) {
  if constexpr (requires { in.softcap; })
    if (has_cap(in)) {
      const Number cap = parameter(in.softcap);
      const Number t = 2 * (x / cap);
      return stage("capped", cap * (positive(t) ? 2 * sigmoid(t) - 1 : 1 - 2 * sigmoid(-t)));
    }
  return x;
}

/// l_ij = cap(scale q_i . k_j) + bias_ij over the visible keys.
template <class I>
Vector logits(const I& in, const Number& scale, Index i, const std::vector<Index>& keys) {
  const Vector q_k = stage("products", products(in.q[i], in.k, keys));
  const bool scaled_only = !has_cap(in) && !in.bias;
  return stage("logits", tabulate(q_k.extent(), [&](Index t) {
                 if (scaled_only) return scale * q_k(t);
                 const Number l = capped(in, stage("scaled products", scale * q_k(t)));
                 return in.bias ? l + in.bias(i, keys[static_cast<std::size_t>(t)]) : l;
               }));
}

/// Those rows of x, without a copy when they are consecutive.
class Rows {
public:
  Rows(View<const Number, 2> x, const std::vector<Index>& rows) {
    const Index count = static_cast<Index>(rows.size()), width = x.extent(1);
    if (consecutive(rows)) {
      view_ = x.rows(count == 0 ? 0 : rows.front(), count);
    } else if (const double* plain = x.plain()) {
      plain_.reserve(static_cast<std::size_t>(count * width));
      for (const Index r : rows)
        for (Index c = 0; c < width; ++c) plain_.push_back(plain[r * x.stride(0) + c * x.stride(1)]);
      view_ = {plain_.data(), {count, width}};
    } else {
      copy_.emplace(count, width);
      for (Index t = 0; t < count; ++t)
        for (Index c = 0; c < width; ++c) (*copy_)(t, c) = x(rows[static_cast<std::size_t>(t)], c);
      view_ = std::as_const(*copy_).view();
    }
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  operator View<const Number, 2>() const { return view_; }
  Index extent() const { return view_.extent(0); }
  View<const Number, 2> rows(Index first, Index count) const { return view_.rows(first, count); }
  Row column(Index c) const { return view_.column(c); }

private:
  std::vector<double> plain_;
  std::optional<Matrix> copy_;
  View<const Number, 2> view_;
};

/// The logits, and behind them the sink, if there is one. It has no row of values.
inline Vector with_sink(const In& in, Vector l) {
  if (!in.sink) return l;
  return tabulate(l.extent() + 1, [&](Index t) { return t < l.extent() ? l(t) : in.sink(); });
}

/// sum_t w_t v_t over the values; the weight behind them is that of the sink.
inline Vector mixed(const Vector& w, const Rows& v) { return product(w.view().rows(0, v.extent()), v); }

/// C3: the output of a query that sees nothing: 0 where a sink has all weight. The mean is attention with equal
/// weights, which may be rounded.
inline void empty_row(const In& in, const Out& out, Index i) {
  const auto [s, m] = in.v.extents();
  const auto equal = stage("weights", tabulate(s, [count = s](Index) { return 1 / Number(count); }));
  for (Index c = 0; c < m; ++c)
    out.o(i, c) = in.sink                          ? Number(0)
                  : in.empty_row == EmptyRow::nan  ? not_a_number()
                  : in.empty_row == EmptyRow::mean ? dot(equal, in.v.column(c))
                                                   : Number(0);
}

/// Every form: `row(i, l, v)` fills out.o[i] from the logits of the visible keys, a sink behind them, and their values.
template <class F>
void each_row(const In& in, const Out& out, F&& row) {
  const Number scale = scale_of(in);
  for (const Index i : wanted(out.o)) {
    const auto keys = visible(in, i);
    if (keys.empty()) {
      empty_row(in, out, i);
      continue;
    }
    row(i, with_sink(in, logits(in, scale, i, keys)), Rows(in.v, keys));
  }
}

/// o_i = sum_{j in S_i} a_ij v_j,  a_ij = e^l_ij / (e^sink + sum_r e^l_ir)      [Vaswani et al. 2017, eq. 1]
inline void dense(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto e = stage("exponentials", tabulate(l.extent(), [&](Index t) { return exp(l(t)); }));
    const Number z = stage("denominator", sum(e));
    const auto a = stage("weights", tabulate(e.extent(), [&](Index t) { return e(t) / z; }));
    assign(out.o[i], mixed(a, v));
  });
}

/// The same weights with the row's maximum subtracted from its logits.
inline void max_shift(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto a = softmax::shifted(l).first;
    assign(out.o[i], mixed(a, v));
  });
}

/// o_i = sum_{j in S_i} e^l_ij v_j / (e^sink + sum_{j in S_i} e^l_ij), no weights in between.
inline void gather(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto e = stage("exponentials", tabulate(l.extent(), [&](Index t) { return exp(l(t)); }));
    const Number z = stage("denominator", sum(e));
    const auto o = stage("accumulator", mixed(stage("exponential factors", e), v));
    for (Index c = 0; c < o.extent(); ++c) out.o(i, c) = o(c) / z;
  });
}

/// The expectation of v under e^(l - lse).
inline void per_query(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const Number lse = stage("log-sum-exp", softmax::log_sum_exp(l));
    const auto a = stage("weights", tabulate(l.extent(), [&](Index t) { return softmax::exponential(l(t), lse); }));
    assign(out.o[i], mixed(a, v));
  });
}

/// The running state after some keys: their maximum m, sum_j e^(l_j - m) and sum_j e^(l_j - m) v_j. A sink is the last
/// key, without a value.
struct Partial {
  Number m, l;
  Vector o;
};

inline Partial partial(const Vector& l, const Rows& v, Index first, Index count) {
  const Number m = pivot_max(count, [&](Index t) { return l(first + t); });
  const auto e = stage("exponentials", tabulate(count, [&](Index t) { return softmax::exponential(l(first + t), m); }));
  const auto factors = stage("exponential factors", e);
  const Index values = std::min(count, v.extent() - first);
  return {m, stage("denominator", sum(e)),
          stage("accumulator", product(factors.view().rows(0, values), v.rows(first, values)))};
}

/// The two sets of keys together.
inline Partial merged(const Partial& a, const Partial& b) {
  const Number m = approximate(a.m) > approximate(b.m) ? a.m : b.m;
  const Number keep_a = softmax::rescaling(a.m, m), keep_b = softmax::rescaling(b.m, m);
  return {m, stage("denominator", a.l * keep_a + b.l * keep_b),
          stage("accumulator", tabulate(a.o.extent(), [&](Index c) { return a.o(c) * keep_a + b.o(c) * keep_b; }))};
}

/// Blocks of keys in order, the running result rescaled whenever the maximum rises.
inline void online_blocked(const In& in, const Out& out) {
  const Index m = in.v.extent(1);
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    auto state = partial(l, v, 0, std::min(in.block, l.extent()));
    for (Index first = in.block; first < l.extent(); first += in.block)
      state = merged(state, partial(l, v, first, std::min(in.block, l.extent() - first)));
    for (Index c = 0; c < m; ++c) out.o(i, c) = state.o(c) / state.l;
  });
}

/// Shards of keys on their own, merged as a tree.
inline void split_k(const In& in, const Out& out) {
  const Index m = in.v.extent(1);
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    std::vector<Partial> shards;
    for (Index first = 0; first < l.extent(); first += in.block)
      shards.push_back(partial(l, v, first, std::min(in.block, l.extent() - first)));
    while (shards.size() > 1) {
      std::vector<Partial> next;
      for (std::size_t t = 0; t < shards.size(); t += 2)
        next.push_back(t + 1 < shards.size() ? merged(shards[t], shards[t + 1]) : shards[t]);
      shards = std::move(next);
    }
    for (Index c = 0; c < m; ++c) out.o(i, c) = shards[0].o(c) / shards[0].l;
  });
}

}  // namespace attest::reference::attention::scaled_dot_product
