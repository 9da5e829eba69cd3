// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/adaptive/span_attention.hpp"

namespace attest::reference::adaptive::span_attention {

namespace softmax = attention::softmax;
using In = attest::spec::adaptive::span_attention::In<Number>;
using Out = attest::spec::adaptive::span_attention::Out<Number>;
using attention::scaled_dot_product::Rows;
using Keys = std::vector<Index>;

/// t, the key at which query i stands.
inline Index position(const In& in, Index i) { return i + in.k.extent(0) - in.q.extent(0); }

/// t - span <= j < t, or j <= t
inline Keys window(const In& in, Index t) {
  Keys keys;
  for (Index j = std::max<Index>(0, t - in.span); j < t + (in.include_self ? 1 : 0); ++j) keys.push_back(j);
  return keys;
}

/// clip((ramp + z - x) / ramp, 0, 1); the authors' code has (z - x) / ramp + 1, which is right beside 1.
inline Number clipped(const In& in, const Number& z, const Number& x) {
  const Number over = parameter(in.ramp) + z - x;
  if (!positive(over)) return Number(0);
  constexpr Index kOfSum = 4;  // units: of the difference, its quotient, and the sum with 1
  const Number m = stage("ramp", stable_by_norm(larger(over, Number(0)) / parameter(in.ramp), 1, kOfSum));
  return -larger(-m, Number(-1));
}

/// m_ij
inline Number mask(const In& in, Index i, Index j) {
  return clipped(in, in.z(i), Number(position(in, i) - j - in.distance_shift));
}

/// What a query sees: the keys of its window, and those of them that its mask leaves, with their masks.
struct Seen {
  Keys all, keys;
  Vector m;

  template <class M>
  Seen(const Keys& window, M&& mask) : all(window), m(0) {
    std::vector<Number> masks;
    for (const Index j : window) {
      Number of = mask(j);
      if (is_zero(of)) continue;
      keys.push_back(j), masks.push_back(std::move(of));
    }
    m = tabulate(static_cast<Index>(masks.size()), [&](Index t) { return masks[static_cast<std::size_t>(t)]; });
  }
};

inline Vector logits(const In& in, Index i, const Keys& keys) {
  const auto q_k = stage("products", attention::scaled_dot_product::products(in.q[i], in.k, keys));
  return stage("logits", tabulate(q_k.extent(), [&](Index t) { return parameter(in.scale) * q_k(t); }));
}

/// Every form: the masks, and o_i = row(i, what the query sees) where that is something.      C4
template <class W, class M, class F>
void each_query(const In& in, const Out& out, W&& window_of, M&& mask_of, F&& row) {
  for (const Index i : wanted(out.o)) {
    const Seen seen(window_of(i), [&](Index j) { return mask_of(i, j); });
    if (seen.keys.empty())
      for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = Number(0);
    else
      assign(out.o[i], row(i, seen));
  }
  for (const Index i : wanted(out.mask)) {
    for (Index j = 0; j < in.k.extent(0); ++j) out.mask(i, j) = Number(0);
    for (const Index j : window_of(i)) out.mask(i, j) = mask_of(i, j);
  }
}

template <class F>
void each_query(const In& in, const Out& out, F&& row) {
  each_query(
      in, out, [&](Index i) { return window(in, position(in, i)); }, [&](Index i, Index j) { return mask(in, i, j); },
      row);
}

/// Of some keys, by their place in another list.
inline Vector of(const Keys& some, const Keys& all, const Vector& x) {
  return tabulate(static_cast<Index>(some.size()), [&](Index t) {
    const auto at = std::lower_bound(all.begin(), all.end(), some[static_cast<std::size_t>(t)]);
    return x(at - all.begin());
  });
}

/// m_t e_t
inline Vector masked(const Vector& m, const Vector& e) {
  return stage("masked exponentials", tabulate(m.extent(), [&](Index t) { return m(t) * e(t); }));
}

/// sum_t w_t / sum v_t
inline Vector mixed(const In& in, const Seen& seen, const Vector& w, const Number& sum) {
  const auto a = stage("weights", tabulate(w.extent(), [&](Index t) { return w(t) / sum; }));
  return product(a, Rows(in.v, seen.keys));
}

/// One query from the logits of the keys that enter: all of the window where eps counts them.
inline Vector masked_exp(const In& in, Index i, const Seen& seen) {
  const Keys& keys = in.eps > 0 ? seen.all : seen.keys;
  const softmax::Exponentials e(logits(in, i, keys));
  const auto w = masked(seen.m, of(seen.keys, keys, e.e));
  const Number total = sum(w);
  return mixed(in, seen, w, stage("sum of masked exponentials", in.eps > 0 ? total + parameter(in.eps) * e.z : total));
}

/// a_ij = m_ij e^l_ij / (sum_r m_ir e^l_ir + eps sum_r e^l_ir)      [Sukhbaatar et al. 2019, eq. 4]
inline void masked_exp(const In& in, const Out& out) {
  each_query(in, out, [&](Index i, const Seen& seen) { return masked_exp(in, i, seen); });
}

/// m a / (sum m a + eps) from a, the softmax over the window
inline void renormalised_softmax(const In& in, const Out& out) {
  each_query(in, out, [&](Index i, const Seen& seen) {
    const auto w = masked(seen.m, of(seen.keys, seen.all, softmax::shifted(logits(in, i, seen.all)).first));
    const Number total = sum(w);
    return mixed(in, seen, w, in.eps > 0 ? total + parameter(in.eps) : total);
  });
}

/// The same from a softmax over the keys that the mask leaves, where eps counts no others; the gradient of a logit is
/// then a difference of sums that are not weighted with its own mask.
inline void masked_softmax(const In& in, const Out& out) {
  each_query(in, out, [&](Index i, const Seen& seen) {
    const Keys& keys = in.eps > 0 ? seen.all : seen.keys;
    const auto w = masked(seen.m, of(seen.keys, keys, softmax::shifted(logits(in, i, keys)).first));
    const Number total = sum(w);
    return mixed(in, seen, w, in.eps > 0 ? total + parameter(in.eps) : total);
  });
}

/// softmax(l + ln m)
inline void log_mask(const In& in, const Out& out) {
  each_query(in, out, [&](Index i, const Seen& seen) {
    const auto l = logits(in, i, seen.keys);
    const auto a =
        softmax::shifted(
            stage("logits with masks",
                  tabulate(l.extent(), [&](Index t) { return l(t) + stage("logarithms of masks", log(seen.m(t))); })))
            .first;
    return product(a, Rows(in.v, seen.keys));
  });
}

/// sum_t m_t e^l_t v_t / sum_t m_t e^l_t over the keys with a mask, no weights in between
inline void trimmed(const In& in, const Out& out) {
  each_query(in, out, [&](Index i, const Seen& seen) {
    const softmax::Exponentials e(logits(in, i, seen.keys));
    const auto w = masked(seen.m, e.e);
    const auto o = stage("accumulator", product(w, Rows(in.v, seen.keys)));
    const Number z = stage("denominator", sum(w));
    return tabulate(o.extent(), [&](Index c) { return o(c) / z; });
  });
}

}  // namespace attest::reference::adaptive::span_attention
