// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::scaled_dot_product {

namespace right = attest::reference::attention::scaled_dot_product;
using reference::attention::softmax::shifted;
using right::In;
using right::Out;

/// The equation with another factor of the dot products.
template <class T, class F>
void with_logits(const In<T>& in, const Out<T>& out, F&& logit) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) {
      right::empty_row(in, out, i);
      continue;
    }
    const auto a = shifted(tabulate(static_cast<Index>(keys.size()), [&](Index t) { return T(logit(i, keys[static_cast<std::size_t>(t)])); })).first;
    const right::Rows<T> v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(a, v.column(c));
  }
}

template <class T>
T biased(const In<T>& in, Index i, Index j, const T& l) { return in.bias ? T(l + in.bias(i, j)) : l; }

template <class T>
void with_scale(const In<T>& in, const Out<T>& out, const T& scale) {
  with_logits(in, out, [&](Index i, Index j) { return biased(in, i, j, T(scale * dot<T>(in.q[i], in.k[j]))); });
}

/// The equation over another set of visible keys, bias and causal order as they are.
template <class T, class F>
void with_visible(In<T> in, const Out<T>& out, bool causal, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees);
  in.mask = mask.view();
  in.causal = causal;
  right::max_shift(in, out);
}

template <class T>
bool masked_in(const In<T>& in, Index i, Index j) { return !in.mask || in.mask(i, j); }

/// The equation on changed output rows.
template <class T, class F>
void changed(const In<T>& in, const Out<T>& out, F&& change) {
  right::max_shift(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i) change(i);
}

/// o_i = sum_j w_j v_j with weights from the logits of the visible keys.
template <class T, class F>
void with_weights(const In<T>& in, const Out<T>& out, F&& weights) {
  right::each_row(in, out, [&](Index i, const Vector<T>& l, const right::Rows<T>& v) {
    const auto w = weights(l);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(w, v.column(c));
  });
}

template <class T>
T given_scale(const In<T>& in, const T& otherwise) { return in.scale ? T(*in.scale) : otherwise; }

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) { with_scale(in, out, given_scale(in, T(1))); }

template <class T>
void scale_by_d(const In<T>& in, const Out<T>& out) { with_scale(in, out, given_scale(in, T(T(1) / T(in.q.extent(1))))); }

template <class T>
void scale_by_sqrt_m(const In<T>& in, const Out<T>& out) { with_scale(in, out, given_scale(in, T(T(1) / sqrt(T(in.v.extent(1)))))); }

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) { with_scale(in, out, T(T(1) / sqrt(T(in.q.extent(1))))); }

template <class T>
void scale_outside_exp(const In<T>& in, const Out<T>& out) {
  with_scale(in, out, T(1));
  const T scale = right::scale_of<T>(in);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = scale * out.o(i, c);
}

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) { with_scale(in, out, T(right::scale_of<T>(in) * (T(1) + c))); }

template <class T>
void normaliser_drift(const In<T>& in, const Out<T>& out, const T& c) {
  changed(in, out, [&](Index i) {
    for (Index e = 0; e < in.v.extent(1); ++e) out.o(i, e) = out.o(i, e) / (T(1) + c);
  });
}

template <class T>
void scaled_queries(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  const auto q = matrix_of<T>(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return scale * in.q(i, a); });
  with_logits(in, out, [&](Index i, Index j) { return biased(in, i, j, dot<T>(q[i], in.k[j])); });
}

template <class T>
void shifted_rows(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  with_logits(in, out, [&](Index i, Index j) { return biased(in, i, j, T(scale * dot<T>(in.q[i], in.k[j]))) + T(0.25 * static_cast<double>(i % 4)); });
}

template <class T>
void causal_strict(const In<T>& in, const Out<T>& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, in.causal, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j < i + past); });
}

template <class T>
void causal_plus_one(const In<T>& in, const Out<T>& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i + past + 1); });
}

template <class T>
void causal_top_left(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i); });
}

template <class T>
void causal_ignored(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j); });
}

template <class T>
void always_causal(const In<T>& in, const Out<T>& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j) && j <= i + past; });
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [](Index, Index) { return true; });
}

template <class T>
void mask_of_queries(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return masked_in(in, std::min(j, in.q.extent(0) - 1), std::min(i, in.k.extent(0) - 1)); });
}

template <class T>
void mask_after_softmax(const In<T>& in, const Out<T>& out) {
  In<T> all = in;
  all.mask = {};
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(all, i);
    if (right::visible(in, i).empty()) {
      right::empty_row(in, out, i);
      continue;
    }
    const auto a = shifted(right::logits(in, right::scale_of<T>(in), i, keys)).first;
    const auto kept = tabulate(a.extent(), [&](Index t) { return masked_in(in, i, keys[static_cast<std::size_t>(t)]) ? a(t) : T(0); });
    const right::Rows<T> v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(kept, v.column(c));
  }
}

template <class T>
void mask_plus_infinity(const In<T>& in, const Out<T>& out) {
  changed(in, out, [&](Index i) {
    bool hidden = false;
    for (Index j = 0; j < in.k.extent(0); ++j) hidden = hidden || !masked_in(in, i, j);
    for (Index c = 0; hidden && c < in.v.extent(1); ++c) out.o(i, c) = not_a_number<T>();
  });
}

template <class T>
void hidden_block_nan(const In<T>& in, const Out<T>& out) {
  changed(in, out, [&](Index i) {
    const auto keys = right::visible(in, i);
    bool hidden = false;
    for (Index first = 0; first < in.k.extent(0) && !keys.empty(); first += in.block)
      hidden = hidden || std::none_of(keys.begin(), keys.end(), [&](Index j) { return first <= j && j < first + in.block; });
    for (Index c = 0; hidden && !in.causal && c < in.v.extent(1); ++c) out.o(i, c) = not_a_number<T>();
  });
}

template <class T>
void empty_row_mean(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.empty_row = "mean";
  right::max_shift(other, out);
}

template <class T>
void empty_row_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.empty_row = "nan";
  right::max_shift(other, out);
}

template <class T>
void softmax_over_queries(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const T scale = right::scale_of<T>(in);
  Matrix<T> a(n, s);
  std::vector<std::vector<Index>> queries(static_cast<std::size_t>(s));
  for (Index i = 0; i < n; ++i)
    for (const Index j : right::visible(in, i)) queries[static_cast<std::size_t>(j)].push_back(i);
  for (Index j = 0; j < s; ++j) {
    const auto& seen_by = queries[static_cast<std::size_t>(j)];
    if (seen_by.empty()) continue;
    const auto w = shifted(tabulate(static_cast<Index>(seen_by.size()), [&](Index t) {
                     const Index i = seen_by[static_cast<std::size_t>(t)];
                     return biased(in, i, j, T(scale * dot<T>(in.q[i], in.k[j])));
                   })).first;
    for (Index t = 0; t < w.extent(); ++t) a(seen_by[static_cast<std::size_t>(t)], j) = w(t);
  }
  for (Index i = 0; i < n; ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) {
      right::empty_row(in, out, i);
      continue;
    }
    const auto w = tabulate(static_cast<Index>(keys.size()), [&](Index t) { return a(i, keys[static_cast<std::size_t>(t)]); });
    const right::Rows<T> v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(w, v.column(c));
  }
}

template <class T>
void kv_roles_swapped(const In<T>& in, const Out<T>& out) {
  const Index d = in.q.extent(1), m = in.v.extent(1);
  const auto scored = matrix_of<T>(in.k.extent(0), d, [&](Index j, Index a) { return T(in.v(j, a % m)); });
  In<T> other = in;
  other.k = scored.view();
  right::max_shift(other, out);
}

template <class T>
void values_from_keys(const In<T>& in, const Out<T>& out) {
  const Index d = in.q.extent(1), m = in.v.extent(1);
  const auto read = matrix_of<T>(in.k.extent(0), m, [&](Index j, Index c) { return T(in.k(j, c % d)); });
  In<T> other = in;
  other.v = read.view();
  right::max_shift(other, out);
}

template <class T>
void maximum_from_zero(const In<T>& in, const Out<T>& out) {
  with_weights(in, out, [](const Vector<T>& l) {
    const T m = pivot_max(l.extent(), [&](Index t) { return l(t); }), shift = approximate(m) > 0 ? m : T(0);
    const auto e = tabulate(l.extent(), [&](Index t) { return exp(l(t) - shift); });
    const T z = sum(l.extent(), [&](Index t) { return e(t); });
    return tabulate(l.extent(), [&](Index t) { return e(t) / z; });
  });
}

template <class T>
void no_max_shift(const In<T>& in, const Out<T>& out) { right::dense(in, out); }

template <class T>
void half_products(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  with_logits(in, out, [&](Index i, Index j) { return biased(in, i, j, T(scale * kept_in(DType::f16, dot<T>(in.q[i], in.k[j])))); });
}

/// The keys that fill up the last of tiles of `tile` keys count with logit 0.
template <class T>
void padded_to(Index tile, const In<T>& in, const Out<T>& out) {
  with_weights(in, out, [&](const Vector<T>& l) {
    const Index n = l.extent(), padding = (tile - in.k.extent(0) % tile) % tile;
    const T lse = shifted(tabulate(n + padding, [&](Index t) { return t < n ? l(t) : T(0); })).second;
    return tabulate(n, [&](Index t) { return exp(l(t) - lse); });
  });
}

template <class T>
void padding_counted(const In<T>& in, const Out<T>& out) { padded_to(8, in, out); }

template <class T>
void padding_counted_16(const In<T>& in, const Out<T>& out) { padded_to(16, in, out); }

template <class T>
void padding_counted_64(const In<T>& in, const Out<T>& out) { padded_to(64, in, out); }

template <class T>
void one_in_denominator(const In<T>& in, const Out<T>& out) {
  with_weights(in, out, [&](const Vector<T>& l) {
    const T lse = shifted(tabulate(l.extent() + 1, [&](Index t) { return t < l.extent() ? l(t) : T(0); })).second;
    return tabulate(l.extent(), [&](Index t) { return exp(l(t) - lse); });
  });
}

template <class T>
void head_width_64(const In<T>& in, const Out<T>& out) {
  const Index width = std::min<Index>(64, in.q.extent(1));
  const T scale = right::scale_of<T>(in);
  with_logits(in, out, [&](Index i, Index j) {
    return biased(in, i, j, T(scale * sum(width, [&](Index a) { return in.q(i, a) * in.k(j, a); })));
  });
}

template <class T>
void columns_swapped(const In<T>& in, const Out<T>& out) {
  changed(in, out, [&](Index i) {
    for (Index c = 0; c + 1 < in.v.extent(1); c += 2) std::swap(out.o(i, c), out.o(i, c + 1));
  });
}

/// Without the key that `which(keys)` points at, where more than one is visible.
template <class T, class F>
void without_key(const In<T>& in, const Out<T>& out, F&& which) {
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    const auto keys = right::visible(in, i);
    return masked_in(in, i, j) && !(keys.size() > 1 && j == which(keys));
  });
}

template <class T>
void last_key_dropped(const In<T>& in, const Out<T>& out) {
  without_key(in, out, [](const std::vector<Index>& keys) { return keys.back(); });
}

template <class T>
void first_key_of_block_dropped(const In<T>& in, const Out<T>& out) {
  without_key(in, out, [&](const std::vector<Index>&) { return in.block; });
}

template <class T>
void rescale_missing(const In<T>& in, const Out<T>& out) {
  const Index m = in.v.extent(1);
  right::each_row(in, out, [&](Index i, const Vector<T>& l, const right::Rows<T>& v) {
    auto state = right::partial(l, v, 0, std::min(in.block, l.extent()), m);
    for (Index first = in.block; first < l.extent(); first += in.block) {
      const auto next = right::partial(l, v, first, std::min(in.block, l.extent() - first), m);
      state = {next.m, state.l + next.l, tabulate(m, [&](Index c) { return T(state.o(c) + next.o(c)); })};
    }
    for (Index c = 0; c < m; ++c) out.o(i, c) = state.o(c) / state.l;
  });
}

/// A running maximum over tiles of so many keys, and sums that keep the maximum that they were made with.
template <class T>
void not_rescaled(Index tile, const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [&](Index i, const Vector<T>& l, const right::Rows<T>& v) {
    const auto a = tabulate(l.extent(), [&](Index t) {
      const Index seen = std::min((t / tile + 1) * tile, l.extent());
      return exp(l(t) - pivot_max(seen, [&](Index r) { return l(r); }));
    });
    const T all = sum(a.extent(), [&](Index t) { return a(t); });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = dot<T>(a, v.column(c)) / all;
  });
}

template <class T>
void rescale_missing_64(const In<T>& in, const Out<T>& out) { not_rescaled(64, in, out); }

template <class T>
void rescale_missing_128(const In<T>& in, const Out<T>& out) { not_rescaled(128, in, out); }

template <class T>
void bias_before_scale(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  with_logits(in, out, [&](Index i, Index j) { return scale * biased(in, i, j, dot<T>(in.q[i], in.k[j])); });
}

template <class T>
void bias_ignored(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  with_logits(in, out, [&](Index i, Index j) { return scale * dot<T>(in.q[i], in.k[j]); });
}

template <class T>
void base2(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in), ln_2 = ln2<T>();
  with_logits(in, out, [&](Index i, Index j) { return ln_2 * biased(in, i, j, T(scale * dot<T>(in.q[i], in.k[j]))); });
}

template <class T>
void mean_of_values(const In<T>& in, const Out<T>& out) {
  with_logits(in, out, [](Index, Index) { return T(0); });
}

}  // namespace attest::faults::attention::scaled_dot_product
