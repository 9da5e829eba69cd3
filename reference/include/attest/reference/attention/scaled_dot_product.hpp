// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/attention/scaled_dot_product.hpp"

namespace attest::reference::attention::scaled_dot_product {

using In = attest::spec::attention::scaled_dot_product::In<Number>;
using Out = attest::spec::attention::scaled_dot_product::Out<Number>;

/// S_i in ascending order: not masked, not in the future, not hidden by a bias of -inf.
template <class I>
std::vector<Index> visible(const I& in, Index i) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  std::vector<Index> keys;
  for (Index j = 0; j < s; ++j)
    if ((!in.causal || j <= i + (s - n)) && (!in.mask || in.mask(i, j)) && (!in.bias || !hides(in.bias(i, j)))) keys.push_back(j);
  return keys;
}

/// The given scale, or 1/sqrt(d).
template <class I>
Number scale_of(const I& in) {
  return in.scale ? Number(*in.scale) : 1 / sqrt(Number(in.q.extent(1)));
}

/// l_ij = scale q_i . k_j + bias_ij over the visible keys.
template <class I>
Vector logits(const I& in, const Number& scale, Index i, const std::vector<Index>& keys) {
  return tabulate(static_cast<Index>(keys.size()), [&](Index t) {
    const Index j = keys[static_cast<std::size_t>(t)];
    const Number l = scale * dot(in.q[i], in.k[j]);
    return in.bias ? l + in.bias(i, j) : l;
  });
}

/// Those rows of x, without a copy when they are consecutive.
class Rows {
public:
  Rows(View<const Number, 2> x, const std::vector<Index>& rows) {
    const Index count = static_cast<Index>(rows.size());
    if (count == 0 || rows.back() - rows.front() + 1 == count) {
      view_ = x.rows(count == 0 ? 0 : rows.front(), count);
      return;
    }
    copy_.emplace(count, x.extent(1));
    for (Index t = 0; t < count; ++t)
      for (Index c = 0; c < x.extent(1); ++c) (*copy_)(t, c) = x(rows[static_cast<std::size_t>(t)], c);
    view_ = std::as_const(*copy_).view();
  }
  Row column(Index c) const { return view_.column(c); }

private:
  std::optional<Matrix> copy_;
  View<const Number, 2> view_;
};

/// C3: the output of a query that sees nothing. The mean is attention with equal weights, which may be rounded.
inline void empty_row(const In& in, const Out& out, Index i) {
  const auto [s, m] = in.v.extents();
  const auto equal = tabulate(s, [count = s](Index) { return 1 / Number(count); });
  for (Index c = 0; c < m; ++c)
    out.o(i, c) = in.empty_row == "nan" ? Number(std::nan("")) : in.empty_row == "mean" ? dot(equal, in.v.column(c)) : Number(0);
}

/// Every form: `row(i, keys, l, v)` fills out.o[i] from the logits and the values of the visible keys.
template <class F>
void each_row(const In& in, const Out& out, F&& row) {
  const Number scale = scale_of(in);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = visible(in, i);
    if (keys.empty()) {
      empty_row(in, out, i);
      continue;
    }
    row(i, logits(in, scale, i, keys), Rows(in.v, keys));
  }
}

/// o_i = sum_{j in S_i} a_ij v_j,  a_ij = e^l_ij / sum_r e^l_ir      [Vaswani et al. 2017, eq. 1]
inline void dense(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t)); });
    const Number z = sum(e.extent(), [&](Index t) { return e(t); });
    const auto a = tabulate(e.extent(), [&](Index t) { return e(t) / z; });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot(a, v.column(c));
  });
}

/// The same weights with the row's maximum subtracted from its logits.
inline void max_shift(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto a = softmax::shifted(l).first;
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot(a, v.column(c));
  });
}

/// o_i = sum_{j in S_i} e^l_ij v_j / sum_{j in S_i} e^l_ij, no weights in between.
inline void gather(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t)); });
    const Number z = sum(e.extent(), [&](Index t) { return e(t); });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot(e, v.column(c)) / z;
  });
}

/// The expectation of v under e^(l - lse).
inline void per_query(const In& in, const Out& out) {
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    const Number lse = softmax::shifted(l).second;
    const auto a = tabulate(l.extent(), [&](Index t) { return exp(l(t) - lse); });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot(a, v.column(c));
  });
}

/// What is known after some keys: their maximum, sum_j e^(l_j - m) and sum_j e^(l_j - m) v_j.
struct Partial {
  Number m, l;
  Vector o;
};

inline Partial partial(const Vector& l, const Rows& v, Index first, Index count, Index width) {
  const Number m = pivot_max(count, [&](Index t) { return l(first + t); });
  const auto e = tabulate(count, [&](Index t) { return exp(l(first + t) - m); });
  return {m, sum(count, [&](Index t) { return e(t); }), tabulate(width, [&](Index c) { return dot(e, v.column(c).rows(first, count)); })};
}

/// The two sets of keys together.
inline Partial merged(const Partial& a, const Partial& b) {
  const Number m = approximate(a.m) > approximate(b.m) ? a.m : b.m;
  const Number keep_a = exp(a.m - m), keep_b = exp(b.m - m);
  return {m, a.l * keep_a + b.l * keep_b, tabulate(a.o.extent(), [&](Index c) { return a.o(c) * keep_a + b.o(c) * keep_b; })};
}

/// Blocks of keys in order, the running result rescaled whenever the maximum rises.
inline void online_blocked(const In& in, const Out& out) {
  const Index m = in.v.extent(1);
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    auto state = partial(l, v, 0, std::min(in.block, l.extent()), m);
    for (Index first = in.block; first < l.extent(); first += in.block)
      state = merged(state, partial(l, v, first, std::min(in.block, l.extent() - first), m));
    for (Index c = 0; c < m; ++c) out.o(i, c) = state.o(c) / state.l;
  });
}

/// Shards of keys on their own, merged as a tree.
inline void split_k(const In& in, const Out& out) {
  const Index m = in.v.extent(1);
  each_row(in, out, [&](Index i, const Vector& l, const Rows& v) {
    std::vector<Partial> shards;
    for (Index first = 0; first < l.extent(); first += in.block)
      shards.push_back(partial(l, v, first, std::min(in.block, l.extent() - first), m));
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
