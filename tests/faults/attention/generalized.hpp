// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/generalized.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::generalized {

namespace right = attest::reference::attention::generalized;
using attest::spec::attention::generalized::Sim;
using attest::spec::attention::generalized::ZeroDenominator;
using right::In;
using right::Keys;
using right::Out;
using right::over;

/// The equation with the similarity sim(i, j) in place of its own.
template <class F>
void with_similarity(const In& in, const Out& out, F&& sim) {
  right::each_row(in, out, [&](Index i, const Keys& keys) { return over(keys, [&](Index j) { return sim(i, j); }); });
}

/// The equation with exp(l(i, j)) where `sim` is of that kind, the equation itself elsewhere.
template <class F>
void with_exponent(const In& in, const Out& out, Sim kind, F&& l) {
  if (in.sim != kind) return right::stable(in, out);
  right::each_row(
      in, out, [&](Index i, const Keys& keys) { return right::shifted(over(keys, [&](Index j) { return l(i, j); })); });
}

/// The equation under another mask.
template <class F>
void with_visible(In in, const Out& out, bool causal, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees);
  in.mask = mask.view();
  in.causal = causal;
  right::stable(in, out);
}

inline bool masked_in(const In& in, Index i, Index j) { return !in.mask || in.mask(i, j); }

/// Numerators and denominators of the equation apart: o = f(numerator, i, keys).
template <class F>
void with_numerators(const In& in, const Out& out, F&& f) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = right::visible(in, i);
    const auto w = over(keys, [&](Index j) { return right::similarity(in, i, j); });
    const right::Rows v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = f(dot(w, v.column(c)), i);
  }
}

/// sum of sim(q_i, k_j) over the keys.
inline Number denominator(const In& in, Index i, const Keys& keys) {
  return sum(static_cast<Index>(keys.size()),
             [&](Index t) { return right::similarity(in, i, keys[static_cast<std::size_t>(t)]); });
}

inline void unnormalised(const In& in, const Out& out) {
  with_numerators(in, out, [](const Number& x, Index) { return x; });
}

/// The largest exponent of those keys, which exponentials are taken after; 0 where there are none.
inline Number largest_exponent(const In& in, Index i, const Keys& keys) {
  if (!right::is_exponential(in) || keys.empty()) return 0;
  return pivot_max(static_cast<Index>(keys.size()),
                   [&](Index t) { return right::exponent(in, i, keys[static_cast<std::size_t>(t)]); });
}

/// e^-m sim(q_i, k_j) over the keys.
inline Vector shifted(const In& in, Index i, const Keys& keys, const Number& m) {
  return right::over(keys, [&](Index j) {
    return right::is_exponential(in) ? exp(right::exponent(in, i, j) - m) : right::similarity(in, i, j);
  });
}

/// o_i = (sum_j w_j v_j) / z(i, m, w), w = e^-m sim(q_i, k_j). An exponential that overflows would be a mistake of its
/// own.
template <class Z>
void with_denominators(const In& in, const In& of_maximum, const Out& out, Z&& z) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = right::visible(in, i);
    const Number m = largest_exponent(in, i, right::visible(of_maximum, i));
    const auto w = shifted(in, i, keys, m);
    const right::Rows v(in.v, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = right::ratio(in, dot(w, v.column(c)), z(i, m, w));
  }
}

inline void eps_added(const In& in, const Out& out) {
  with_denominators(in, in, out,
                    [](Index, const Number& m, const Vector& w) { return sum(w) + rational(1, 1000000) * exp(-m); });
}

inline void mask_after_normaliser(const In& in, const Out& out) {
  In all = in;
  all.mask = {};
  with_denominators(in, all, out, [&](Index i, const Number& m, const Vector&) {
    return sum(shifted(in, i, right::visible(all, i), m));
  });
}

inline void own_value(const In& in, const Out& out) {
  const Index s = in.k.extent(0);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const Keys keys = right::visible(in, i);
    const Number z = denominator(in, i, keys);
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = right::ratio(in, z * in.v(i % s, c), z);
  }
}

inline void normaliser_of_column(const In& in, const Out& out) {
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index c = 0; c < in.v.extent(1); ++c) {
      const auto shares = over(right::visible(in, i), [&](Index j) {
        const Number z = sum(in.q.extent(0), [&](Index r) {
          const Keys keys = right::visible(in, r);
          return std::count(keys.begin(), keys.end(), j) ? right::similarity(in, r, j) : Number(0);
        });
        return right::ratio(in, right::similarity(in, i, j) * in.v(j, c), z);
      });
      out.o(i, c) = sum(shares.extent(), [&](Index t) { return shares(t); });
    }
}

inline void rbf_unsquared(const In& in, const Out& out) {
  with_exponent(in, out, Sim::rbf,
                [&](Index i, Index j) { return -parameter(in.gamma) * sqrt(right::squared_distance(in, i, j)); });
}

inline void rbf_sign(const In& in, const Out& out) {
  with_exponent(in, out, Sim::rbf, [&](Index i, Index j) { return -right::exponent(in, i, j); });
}

inline void rbf_half_gamma(const In& in, const Out& out) {
  with_exponent(in, out, Sim::rbf, [&](Index i, Index j) { return right::exponent(in, i, j) / Number(2); });
}

inline void rbf_without_key_norms(const In& in, const Out& out) {
  with_exponent(in, out, Sim::rbf, [&](Index i, Index j) {
    const double twice = 2 * in.gamma;
    return parameter(twice) * dot(in.q[i], in.k[j]);
  });
}

inline void unscaled_as_equivalent(const In& in, const Out& out) {
  In other = in;
  if (!in.scale) other.scale = 1;
  right::stable(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::stable(other, out);
}

inline void polynomial_constant_missing(const In& in, const Out& out) {
  In other = in;
  other.offset = 0;
  right::stable(other, out);
}

inline void power_ignored(const In& in, const Out& out) {
  In other = in;
  other.power = 2;
  right::stable(other, out);
}

/// The equation where every negative similarity becomes f(similarity).
template <class F>
void with_negative(const In& in, const Out& out, F&& f) {
  if (right::is_exponential(in)) return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) {
    const Number sim = right::similarity(in, i, j);
    return less(sim, Number(0)) ? f(sim) : sim;
  });
}

inline void negative_clamped(const In& in, const Out& out) {
  with_negative(in, out, [](const Number&) { return Number(0); });
}

inline void negative_folded(const In& in, const Out& out) {
  with_negative(in, out, [](const Number& sim) { return -sim; });
}

inline void sim_ignored(const In& in, const Out& out) {
  In other = in;
  other.sim = Sim::exp_dot;
  right::stable(other, out);
}

inline void maps_swapped(const In& in, const Out& out) {
  In other = in;
  std::swap(other.phi, other.varphi);
  right::stable(other, out);
}

inline void one_map(const In& in, const Out& out) {
  In other = in;
  other.varphi = in.phi;
  right::stable(other, out);
}

inline void map_missing_on_keys(const In& in, const Out& out) {
  if (in.sim != Sim::feature_dot) return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) { return dot(right::mapped(in.phi, in.q, i), in.k[j]); });
}

inline void zero_denominator_nan(const In& in, const Out& out) {
  In other = in;
  other.zero_denominator = ZeroDenominator::nan;
  right::stable(other, out);
}

inline void causal_ignored(const In& in, const Out& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j); });
}

inline void causal_strict(const In& in, const Out& out) {
  const Index past = in.k.extent(0) - in.q.extent(0);
  with_visible(in, out, in.causal,
               [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j < i + past); });
}

inline void causal_top_left(const In& in, const Out& out) {
  with_visible(in, out, false, [&](Index i, Index j) { return masked_in(in, i, j) && (!in.causal || j <= i); });
}

inline void mask_ignored(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [](Index, Index) { return true; });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

inline void last_key_dropped(const In& in, const Out& out) {
  with_visible(in, out, in.causal, [&](Index i, Index j) {
    const Keys keys = right::visible(in, i);
    return masked_in(in, i, j) && !(keys.size() > 1 && j == keys.back());
  });
}

inline void no_max_shift(const In& in, const Out& out) { right::weights(in, out); }

inline void queries_drift(const In& in, const Out& out, const Number& c) {
  const auto q =
      matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return in.q(i, a) * (Number(1) + c); });
  In other = in;
  other.q = read_only(q);
  right::stable(other, out);
}

inline void row_gain(const In& in, const Out& out) {
  if (right::is_exponential(in)) return right::stable(in, out);
  with_similarity(in, out, [&](Index i, Index j) { return Number(1 + i % 3) * right::similarity(in, i, j); });
}

}  // namespace attest::faults::attention::generalized
