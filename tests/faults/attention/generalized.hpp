// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/generalized.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::generalized {

namespace right = attest::reference::attention::generalized;
using right::In;
using right::Keys;
using right::Out;
using right::over;

/// The equation with the similarity sim(i, j) in place of its own.
template <class T, class F>
void with_similarity(const In<T>& in, const Out<T>& out, F&& sim) {
  right::each_row(in, out, [&](Index i, const Keys& keys) { return over(keys, [&](Index j) { return T(sim(i, j)); }); });
}

/// The equation with exp(l(i, j)) where `sim` is of that kind, the equation itself elsewhere.
template <class T, class F>
void with_exponent(const In<T>& in, const Out<T>& out, const char* kind, F&& l) {
  if (in.sim != kind) return right::stable(in, out);
  right::each_row(in, out, [&](Index i, const Keys& keys) { return right::shifted(over(keys, [&](Index j) { return T(l(i, j)); })); });
}

/// The equation under another mask.
template <class T, class F>
void with_visible(In<T> in, const Out<T>& out, bool causal, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees);
  in.mask = mask.view();
  in.causal = causal;
  right::stable(in, out);
}

template <class T>
bool masked_in(const In<T>& in, Index i, Index j) { return !in.mask || in.mask(i, j); }

/// Numerators and denominators of the equation apart: o = f(numerator, i, keys).
template <class T, class F>
void with_numerators(const In<T>& in, const Out<T>& out, F&& f) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = right::visible(in, i);
    const auto w = over(keys, [&](Index j) { return right::similarity(in, i, j); });
    const right::Rows<T> v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = f(T(dot<T>(w, v.column(c))), i);
  }
}

/// sum of sim(q_i, k_j) over the keys.
template <class T>
T denominator(const In<T>& in, Index i, const Keys& keys) {
  return sum(static_cast<Index>(keys.size()), [&](Index t) { return right::similarity(in, i, keys[static_cast<std::size_t>(t)]); });
}

template <class T>
void unnormalised(const In<T>& in, const Out<T>& out) {
  with_numerators(in, out, [](const T& x, Index) { return x; });
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) {
  with_numerators(in, out, [&](const T& x, Index i) { return right::ratio(in, x, T(denominator(in, i, right::visible(in, i)) + T(1e-6))); });
}

template <class T>
void mask_after_normaliser(const In<T>& in, const Out<T>& out) {
  In<T> all = in;
  all.mask = {};
  with_numerators(in, out, [&](const T& x, Index i) { return right::ratio(in, x, denominator(in, i, right::visible(all, i))); });
}

template <class T>
void own_value(const In<T>& in, const Out<T>& out) {
  const Index s = in.k.extent(0);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = right::visible(in, i);
    const T z = denominator(in, i, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = right::ratio(in, T(z * in.v(i % s, c)), z);
  }
}

template <class T>
void normaliser_of_column(const In<T>& in, const Out<T>& out) {
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index c = 0; c < in.v.extent(1); ++c) {
      const auto shares = over(right::visible(in, i), [&](Index j) {
        const T z = sum(in.q.extent(0), [&](Index r) {
          const Keys keys = right::visible(in, r);
          return std::count(keys.begin(), keys.end(), j) ? right::similarity(in, r, j) : T(0);
        });
        return right::ratio(in, T(right::similarity(in, i, j) * in.v(j, c)), z);
      });
      out.o(i, c) = sum(shares.extent(), [&](Index t) { return shares(t); });
    }
}

template <class T>
void rbf_unsquared(const In<T>& in, const Out<T>& out) {
  with_exponent(in, out, "rbf", [&](Index i, Index j) { return T(-in.gamma) * sqrt(right::squared_distance(in, i, j)); });
}

template <class T>
void rbf_sign(const In<T>& in, const Out<T>& out) {
  with_exponent(in, out, "rbf", [&](Index i, Index j) { return -right::exponent(in, i, j); });
}

template <class T>
void rbf_half_gamma(const In<T>& in, const Out<T>& out) {
  with_exponent(in, out, "rbf", [&](Index i, Index j) { return right::exponent(in, i, j) / T(2); });
}

template <class T>
void rbf_without_key_norms(const In<T>& in, const Out<T>& out) {
  with_exponent(in, out, "rbf", [&](Index i, Index j) { return T(2 * in.gamma) * dot<T>(in.q[i], in.k[j]); });
}

template <class T>
void unscaled_as_equivalent(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (!in.scale) other.scale = 1;
  right::stable(other, out);
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = {};
  right::stable(other, out);
}

template <class T>
void polynomial_constant_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.offset = 0;
  right::stable(other, out);
}

template <class T>
void power_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.power = 2;
  right::stable(other, out);
}

/// The equation where every negative similarity becomes f(similarity).
template <class T, class F>
void with_negative(const In<T>& in, const Out<T>& out, F&& f) {
  if (right::is_exponential(in)) return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) {
    const T sim = right::similarity(in, i, j);
    return less(sim, T(0)) ? T(f(sim)) : sim;
  });
}

template <class T>
void negative_clamped(const In<T>& in, const Out<T>& out) {
  with_negative(in, out, [](const T&) { return T(0); });
}

template <class T>
void negative_folded(const In<T>& in, const Out<T>& out) {
  with_negative(in, out, [](const T& sim) { return -sim; });
}

template <class T>
void sim_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.sim = "exp_dot";
  right::stable(other, out);
}

template <class T>
void maps_swapped(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  std::swap(other.phi, other.varphi);
  right::stable(other, out);
}

template <class T>
void one_map(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.varphi = in.phi;
  right::stable(other, out);
}

template <class T>
void map_missing_on_keys(const In<T>& in, const Out<T>& out) {
  if (in.sim != "feature_dot") return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) { return dot<T>(right::mapped(in.phi, in.q, i), in.k[j]); });
}

template <class T>
void zero_denominator_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.zero_denominator = "nan";
  right::stable(other, out);
}

template <class T>
void causal_ignored(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j); });
}

template <class T>
void causal_strict(const In<T>& in, const Out<T>& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, in.causal, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j < i + past); });
}

template <class T>
void causal_top_left(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i); });
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [](Index, Index) { return true; });
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

template <class T>
void last_key_dropped(const In<T>& in, const Out<T>& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    const Keys keys = right::visible(in, i);
    return masked_in(in, i, j) && !(keys.size() > 1 && j == keys.back());
  });
}

template <class T>
void no_max_shift(const In<T>& in, const Out<T>& out) { right::weights(in, out); }

template <class T>
void queries_drift(const In<T>& in, const Out<T>& out, const T& c) {
  const auto q = matrix_of<T>(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return in.q(i, a) * (T(1) + c); });
  In<T> other = in;
  other.q = read_only(q);
  right::stable(other, out);
}

template <class T>
void row_gain(const In<T>& in, const Out<T>& out) {
  if (right::is_exponential(in)) return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) { return T(1 + i % 3) * right::similarity(in, i, j); });
}

}  // namespace attest::faults::attention::generalized
