// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/sparse/attend.hpp"
#include "faults/fault.hpp"

namespace attest::faults::sparse::attend {

namespace right = attest::reference::sparse::attend;
namespace plain = attest::reference::attention::scaled_dot_product;
using attest::reference::attention::softmax::shifted;
using plain::Rows;
using right::In;
using right::Keys;
using right::Out;

/// The keys and values of each set side by side, with another scale.
template <class I, class O, class S>
void scaled(const I& in, const O& out, const Number& scale, S&& set) {
  const plain::In all = right::plain_of(in);
  right::each_row(in, out, set, [&](Index i, const Keys& keys, const Vector&) {
    const Vector l = plain::logits(all, scale, i, keys);
    assign(out.o[i], product(shifted(l).first, Rows(in.v, keys)));
  });
}

template <class I>
Number missing_scale(const I& in) {
  return in.scale ? parameter(*in.scale) : Number(1);
}

template <class I>
Number default_scale(const I& in) {
  return 1 / sqrt(Number(in.q.extent(1)));
}

template <class I>
Number drifted_scale(const I& in, const Number& c) {
  return plain::scale_of(in) * (Number(1) + c);
}

/// Key j of a set counts times(i, j) times.
template <class I, class O, class S, class F>
void counted(const I& in, const O& out, S&& set, F&& times) {
  right::each_row(in, out, set, [&](Index i, const Keys& keys, const Vector& l) {
    const auto counted = tabulate(l.extent(), [&](Index t) {
      const Index count = times(i, keys[static_cast<std::size_t>(t)]);
      return count == 1 ? l(t) : l(t) + log(Number(count));
    });
    assign(out.o[i], product(shifted(counted).first, Rows(in.v, keys)));
  });
}

/// The keys that sees(in, i, j) shows to query i.
template <class I, class F>
auto seen(const I& in, F&& sees) {
  return [&in, sees](Index i) { return right::keys_below(in.k.extent(0), [&](Index j) { return sees(in, i, j); }); };
}

inline auto set(const In& in) {
  return [&in](Index i) { return right::set_of(in, i); };
}

inline void duplicates_counted_twice(const In& in, const Out& out) {
  const Number scale = plain::scale_of(in);
  right::each_row(in, out, set(in), [&](Index i, const Keys&, const Vector&) {
    const Keys keys = right::listed(in, i);
    const auto count = static_cast<Index>(keys.size());
    const auto key = [&](Index t) { return keys[static_cast<std::size_t>(t)]; };
    const auto a = shifted(tabulate(count, [&](Index t) { return scale * dot(in.q[i], in.k[key(t)]); })).first;
    const auto v = matrix_of(count, in.v.extent(1), [&](Index t, Index c) { return in.v(key(t), c); });
    assign(out.o[i], product(a, v));
  });
}

/// The logits of all keys.
inline Vector all_logits(const In& in, Index i) {
  Keys all(static_cast<std::size_t>(in.k.extent(0)));
  std::iota(all.begin(), all.end(), Index{0});
  return plain::logits(right::plain_of(in), plain::scale_of(in), i, all);
}

inline void normalised_over_all(const In& in, const Out& out) {
  right::each_row(in, out, set(in), [&](Index i, const Keys& keys, const Vector&) {
    const auto a = shifted(all_logits(in, i)).first;
    assign(out.o[i], product(tabulate(static_cast<Index>(keys.size()),
                                      [&](Index t) { return a(keys[static_cast<std::size_t>(t)]); }),
                             Rows(in.v, keys)));
  });
}

inline void max_over_all(const In& in, const Out& out) {
  right::each_row(in, out, set(in), [&](Index i, const Keys& keys, const Vector& l) {
    const Vector all = all_logits(in, i);
    const Number m = pivot_max(all.extent(), [&](Index j) { return all(j); });
    const auto e = tabulate(l.extent(), [&](Index t) { return reference::attention::softmax::exponential(l(t), m); });
    const Number z = sum(e);
    const Vector o = product(e, Rows(in.v, keys));
    for (Index c = 0; c < o.extent(); ++c) out.o(i, c) = o(c) / z;
  });
}

/// The equation with other sets.
template <class F>
void with_listed(const In& in, const Out& out, F&& change) {
  right::over_sets(in, out, [&](Index i) { return right::distinct(change(i, right::listed(in, i))); });
}

inline void index_off_by_one(const In& in, const Out& out) {
  with_listed(in, out, [](Index, Keys keys) {
    for (Index& j : keys) j = std::max<Index>(0, j - 1);
    return keys;
  });
}

inline void last_place_dropped(const In& in, const Out& out) {
  with_listed(in, out, [](Index, Keys keys) {
    if (keys.size() > 1) keys.pop_back();
    return keys;
  });
}

inline void last_block_dropped(const In& in, const Out& out) {
  right::over_sets(in, out, [&](Index i) {
    Keys keys = right::set_of(in, i), rest;
    for (const Index j : keys)
      if (j / in.block != keys.back() / in.block) rest.push_back(j);
    return rest.empty() ? keys : rest;
  });
}

inline void whole_blocks(const In& in, const Out& out) {
  with_listed(in, out, [&](Index, const Keys& keys) {
    return right::keys_below(in.k.extent(0), [&](Index j) {
      return std::any_of(keys.begin(), keys.end(), [&](Index r) { return r / in.block == j / in.block; });
    });
  });
}

inline void first_list_for_all(const In& in, const Out& out) {
  right::over_sets(in, out, [&](Index) { return right::set_of(in, 0); });
}

inline void counts_ignored(const In& in, const Out& out) {
  In all = in;
  all.counts = {};
  right::gather(all, out);
}

inline void zero_fill(const In& in, const Out& out) {
  right::each_row(in, out, set(in), [&](Index i, const Keys& keys, const Vector& l) {
    const Index unused = in.counts ? in.sets.extent(1) - in.counts(i) : 0;
    const auto a = shifted(tabulate(l.extent() + unused, [&](Index t) { return t < l.extent() ? l(t) : Number(0); }));
    assign(out.o[i], product(tabulate(l.extent(), [&](Index t) { return a.first(t); }), Rows(in.v, keys)));
  });
}

inline void values_in_order(const In& in, const Out& out) {
  right::each_row(in, out, set(in), [&](Index i, const Keys& keys, const Vector& l) {
    assign(out.o[i], product(shifted(l).first, in.v.rows(0, static_cast<Index>(keys.size()))));
  });
}

/// What a query that sees nothing gets instead.
inline void with_empty(const In& in, const Out& out, plain::EmptyRow what) {
  right::gather(in, out);
  plain::In all = right::plain_of(in);
  all.empty_row = what;
  for (const Index i : wanted(out.o))
    if (right::set_of(in, i).empty()) plain::empty_row(all, plain::Out{out.o}, i);
}

inline void empty_row_mean(const In& in, const Out& out) { with_empty(in, out, plain::EmptyRow::mean); }

inline void empty_row_nan(const In& in, const Out& out) { with_empty(in, out, plain::EmptyRow::nan); }

inline void scale_missing(const In& in, const Out& out) { scaled(in, out, missing_scale(in), set(in)); }

inline void scale_ignored(const In& in, const Out& out) { scaled(in, out, default_scale(in), set(in)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  scaled(in, out, drifted_scale(in, c), set(in));
}

}  // namespace attest::faults::sparse::attend
