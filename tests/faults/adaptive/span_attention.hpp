// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/reference/adaptive/span_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::span_attention {

namespace right = attest::reference::adaptive::span_attention;
using right::In;
using right::Keys;
using right::Out;
using right::position;
using right::Seen;

/// The equation with another window: keys from `first(t)` to `last(t)`.
template <class A, class B>
void with_window(const In& in, const Out& out, A&& first, B&& last) {
  right::each_query(
      in, out,
      [&](Index i) {
        Keys keys;
        const Index t = position(in, i);
        for (Index j = std::max<Index>(0, first(t)); j <= std::min(last(t), in.k.extent(0) - 1); ++j) keys.push_back(j);
        return keys;
      },
      [&](Index i, Index j) { return right::mask(in, i, j); },
      [&](Index i, const Seen& seen) { return right::masked_exp(in, i, seen); });
}
inline Index last_key(const In& in, Index t) { return in.include_self ? t : t - 1; }

inline void span_ignored(const In& in, const Out& out) {
  with_window(in, out, [](Index) { return Index{0}; }, [&](Index t) { return last_key(in, t); });
}
inline void span_plus_one(const In& in, const Out& out) {
  with_window(in, out, [&](Index t) { return t - in.span - 1; }, [&](Index t) { return last_key(in, t); });
}
inline void span_minus_one(const In& in, const Out& out) {
  with_window(in, out, [&](Index t) { return t - in.span + 1; }, [&](Index t) { return last_key(in, t); });
}
inline void later_keys_seen(const In& in, const Out& out) {
  with_window(in, out, [&](Index t) { return t - in.span; }, [&](Index) { return in.k.extent(0); });
}

/// The equation with another mask.
template <class M>
void with_mask(const In& in, const Out& out, M&& mask) {
  right::each_query(
      in, out, [&](Index i) { return right::window(in, position(in, i)); }, mask,
      [&](Index i, const Seen& seen) { return right::masked_exp(in, i, seen); });
}
inline Index distance(const In& in, Index i, Index j) { return position(in, i) - j - in.distance_shift; }

inline void distance_shifted(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return right::clipped(in, in.z(i), Number(distance(in, i, j) - 1)); });
}
inline void distance_shift_ignored(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return right::clipped(in, in.z(i), Number(position(in, i) - j)); });
}
inline void clip_missing(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    return (parameter(in.ramp) + in.z(i) - Number(distance(in, i, j))) / parameter(in.ramp);
  });
}
inline void ramp_reversed(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return 1 - right::mask(in, i, j); });
}
inline void hard_mask(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return Number(less(in.z(i), Number(distance(in, i, j))) ? 0 : 1); });
}
inline void ramp_before_span(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    return right::clipped(in, in.z(i) - parameter(in.ramp), Number(distance(in, i, j)));
  });
}
inline void z_as_fraction(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    return right::clipped(in, in.z(i) / Number(in.span), Number(distance(in, i, j)));
  });
}
inline void z_truncated(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    return right::clipped(in, Number(static_cast<Index>(std::floor(approximate(in.z(i))))), Number(distance(in, i, j)));
  });
}
inline void key_token_span(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    const Index query = j - (in.k.extent(0) - in.q.extent(0));
    return right::clipped(in, in.z(std::clamp<Index>(query, 0, in.q.extent(0) - 1)), Number(distance(in, i, j)));
  });
}
inline void first_span_for_all(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return right::clipped(in, in.z(0), Number(distance(in, i, j))); });
}

/// The equation with other parameters.
inline void self_included(In in, const Out& out) {
  in.include_self = true;
  right::masked_exp(in, out);
}
inline void self_excluded(In in, const Out& out) {
  in.include_self = false;
  right::masked_exp(in, out);
}
inline void ramp_ignored(In in, const Out& out) {
  in.ramp = 4;
  right::masked_exp(in, out);
}
inline void scale_missing(In in, const Out& out) {
  in.scale = 1;
  right::masked_exp(in, out);
}
inline void scaled(In in, const Out& out) {
  in.scale = 1 / std::sqrt(static_cast<double>(in.q.extent(1)));
  right::masked_exp(in, out);
}
inline void eps_missing(In in, const Out& out) {
  in.eps = 0;
  right::masked_exp(in, out);
}
inline void top_left(const In& in, const Out& out) {
  const Index shift = in.k.extent(0) - in.q.extent(0);
  right::each_query(
      in, out, [&](Index i) { return right::window(in, i); },
      [&](Index i, Index j) { return right::clipped(in, in.z(i), Number(distance(in, i, j) - shift)); },
      [&](Index i, const Seen& seen) { return right::masked_exp(in, i, seen); });
}

/// Another row from what the query sees.
template <class F>
void with_row(const In& in, const Out& out, F&& row) {
  right::each_query(in, out, row);
}
inline void mask_on_logits(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const auto l = right::logits(in, i, seen.keys);
    const right::softmax::Exponentials e(tabulate(l.extent(), [&](Index t) { return seen.m(t) * l(t); }));
    return right::mixed(in, seen, e.e, e.z);
  });
}
inline void no_renormalisation(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const right::softmax::Exponentials e(right::logits(in, i, seen.all));
    return right::mixed(in, seen, right::masked(seen.m, right::of(seen.keys, seen.all, e.e)), e.z);
  });
}
inline void eps_beside_exponentials(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const right::softmax::Exponentials e(right::logits(in, i, seen.keys));
    const auto w = right::masked(seen.m, e.e);
    return right::mixed(in, seen, w, sum(w) + parameter(in.eps));
  });
}
inline void hidden_maximum(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const right::softmax::Exponentials e(right::logits(in, i, seen.all));
    const auto w = right::masked(seen.m, right::of(seen.keys, seen.all, e.e));
    return right::mixed(in, seen, w, sum(w) + parameter(in.eps) * e.z);
  });
}
inline void no_shift(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const auto e = [&](const Vector& l) { return tabulate(l.extent(), [&](Index t) { return exp(l(t)); }); };
    const auto w = right::masked(seen.m, e(right::logits(in, i, seen.keys)));
    return right::mixed(in, seen, w, sum(w) + parameter(in.eps) * sum(e(right::logits(in, i, seen.all))));
  });
}
inline void empty_row_nan(const In& in, const Out& out) {
  right::masked_exp(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Seen seen(right::window(in, position(in, i)), [&](Index j) { return right::mask(in, i, j); });
    for (Index c = 0; seen.keys.empty() && c < in.v.extent(1); ++c) out.o(i, c) = not_a_number();
  }
}
inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_row(in, out, [&](Index i, const Seen& seen) {
    const auto off = [&](const Vector& l) { return tabulate(l.extent(), [&](Index t) { return l(t) * (1 + c); }); };
    const right::softmax::Exponentials all(off(right::logits(in, i, in.eps > 0 ? seen.all : seen.keys)));
    const auto w = right::masked(seen.m, right::of(seen.keys, in.eps > 0 ? seen.all : seen.keys, all.e));
    return right::mixed(in, seen, w, sum(w) + parameter(in.eps) * all.z);
  });
}

}  // namespace attest::faults::adaptive::span_attention
