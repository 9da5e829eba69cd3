// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/performer_attention.hpp"
#include "faults/lowrank/rfa_attention.hpp"

namespace attest::faults::lowrank::performer_attention {

namespace right = attest::reference::lowrank::performer_attention;
using reference::lowrank::positive_features::exponents;
using right::Features;
using right::In;
using right::Out;
using right::stabilised;

inline void attend(const In& in, const Out& out, const Features& phi) {
  reference::lowrank::rfa_attention::quadratic(in, out, phi);
}

/// The right features, features of keys made of other exponents.
template <class F>
void with_key_exponents(const In& in, const Out& out, F&& exponent) {
  Features phi = right::features(in);
  phi.k = reference::lowrank::rfa_attention::rows_of(in.k, in.w.extent(0),
                                                     [&](const Row& x) { return stabilised(in, exponent(x)); });
  attend(in, out, phi);
}

/// Exponents of queries and keys alike.
template <class F>
void with_exponents(const In& in, const Out& out, F&& exponent) {
  using reference::lowrank::rfa_attention::rows_of;
  const auto phi = [&](const Row& x) { return stabilised(in, exponent(x)); };
  attend(in, out, Features{rows_of(in.q, in.w.extent(0), phi), rows_of(in.k, in.w.extent(0), phi)});
}

/// o_i = output(weights of the keys that it sees, a column of their values, i).
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  rfa_attention::with_output(in, out, right::features(in), output);
}

/// The mean of some of the keys that a query sees.
inline Number mean(const Vector& w, const Row& v, Index first, Index count) {
  const Row some = w.view().rows(first, count);
  const Number z = sum(some);
  return is_zero(z) ? Number(0) : dot(some, v.rows(first, count)) / z;
}

inline Vector less_largest(const Vector& exponent) {
  return tabulate(exponent.extent(), [&](Index r) { return exponent(r) - right::largest(exponent); });
}

inline void per_key_shift(const In& in, const Out& out) {
  with_key_exponents(in, out, [&](const Row& x) { return less_largest(right::exponents(in, x)); });
}

inline Vector times(const Number& factor, const Row& x) {
  return tabulate(x.extent(0), [&](Index a) { return factor * x(a); });
}

inline void scale_sqrt_d(const In& in, const Out& out) {
  with_exponents(in, out,
                 [&](const Row& x) { return exponents(in.w, times(1 / sqrt(Number(x.extent(0))), x), false); });
}

inline void scale_missing(const In& in, const Out& out) {
  with_exponents(in, out, [&](const Row& x) { return exponents(in.w, x, false); });
}

inline void scale_on_queries_only(const In& in, const Out& out) {
  with_key_exponents(in, out, [&](const Row& x) { return exponents(in.w, x, false); });
}

inline void key_norm_missing(const In& in, const Out& out) {
  with_key_exponents(in, out, [&](const Row& x) { return product(in.w, right::scaled(x)); });
}

inline void norm_before_scale(const In& in, const Out& out) {
  with_exponents(in, out, [&](const Row& x) {
    const auto products = product(in.w, right::scaled(x));
    return tabulate(products.extent(), [&](Index r) { return products(r) - dot(x, x) / 2; });
  });
}

inline void different_w(const In& in, const Out& out) {
  with_key_exponents(in, out, [&](const Row& x) {
    const Vector exponent = right::exponents(in, x);
    return tabulate(exponent.extent(), [&](Index r) { return exponent(exponent.extent() - 1 - r); });
  });
}

inline void normaliser_missing(const In& in, const Out& out) {
  with_output(in, out, [](const Vector& w, const Row& v, Index) { return dot(w, v); });
}

inline void denominator_not_inverted(const In& in, const Out& out) {
  with_output(in, out, [](const Vector& w, const Row& v, Index) { return dot(w, v) * sum(w); });
}

inline void denominator_elementwise(const In& in, const Out& out) {
  const Features phi = right::features(in);
  for (const Index i : wanted(out.o)) {
    const Index seen = in.causal ? i + 1 : in.k.extent(0);
    const View<const Number, 2> k = read_only(phi.k).rows(0, seen);
    for (Index b = 0; b < in.v.extent(1); ++b)
      out.o(i, b) = sum(in.w.extent(0), [&](Index r) {
        return phi.q(i, r) * (dot(k.column(r), in.v.rows(0, seen).column(b)) / sum(k.column(r)));
      });
  }
}

inline void normaliser_from_queries(const In& in, const Out& out) {
  const Features phi = right::features(in);
  with_output(in, out, [&](const Vector& w, const Row& v, Index i) {
    return dot(w, v) / sum(in.causal ? i + 1 : in.q.extent(0), [&](Index j) { return dot(phi.q[i], phi.q[j]); });
  });
}

inline void relu_features(const In& in, const Out& out) {
  using reference::lowrank::rfa_attention::rows_of;
  const auto phi = [&](const Row& x) {
    const auto products = product(in.w, right::scaled(x));
    return tabulate(products.extent(),
                    [&](Index r) { return (positive(products(r)) ? products(r) : Number(0)) + rational(1, 1000); });
  };
  attend(in, out, Features{rows_of(in.q, in.w.extent(0), phi), rows_of(in.k, in.w.extent(0), phi)});
}

inline void mean_of_values(const In& in, const Out& out) {
  with_output(in, out, [](const Vector& w, const Row& v, Index) { return sum(v) / Number(w.extent()); });
}

inline void softmax_instead(const In& in, const Out& out) {
  with_output(in, out, [&](const Vector& w, const Row& v, Index i) {
    const Number root = sqrt(Number(in.q.extent(1)));
    const auto e = tabulate(w.extent(), [&](Index j) { return exp(dot(in.q[i], in.k[j]) / root); });
    return dot(e, v) / sum(e);
  });
}

inline void exclusive_prefix(const In& in, const Out& out) {
  with_output(in, out,
              [&](const Vector& w, const Row& v, Index i) { return mean(w, v, 0, in.causal ? i : w.extent()); });
}

inline void causal_ignored(In in, const Out& out) {
  in.causal = false;
  right::quadratic(in, out);
}

inline void always_causal(const In& in, const Out& out) {
  with_output(in, out,
              [](const Vector& w, const Row& v, Index i) { return mean(w, v, 0, std::min(i + 1, w.extent())); });
}

inline void state_not_carried(const In& in, const Out& out) {
  with_output(in, out, [&](const Vector& w, const Row& v, Index i) {
    const Index first = in.causal ? i / in.chunk * in.chunk : 0;
    return mean(w, v, first, w.extent() - first);
  });
}

inline void stabiliser_before_exp(const In& in, const Out& out) {
  const auto phi = [&](const Vector& exponent) {
    return tabulate(exponent.extent(), [&](Index r) { return exp(exponent(r) + parameter(in.stabiliser)); });
  };
  attend(in, out, right::features(in, phi, phi));
}

inline void stabiliser_always(In in, const Out& out) {
  in.stabiliser += 1e-3;
  right::quadratic(in, out);
}

inline void stabiliser_on_keys_only(const In& in, const Out& out) {
  In bare = in;
  bare.stabiliser = 0;
  attend(in, out,
         right::features(
             in, [&](const Vector& exponent) { return stabilised(bare, exponent); },
             [&](const Vector& exponent) { return stabilised(in, exponent); }));
}

inline void query_shift(const In& in, const Out& out) {
  attend(in, out,
         right::features(
             in,
             [&](const Vector& exponent) {
               if (in.stabiliser != 0) return stabilised(in, exponent);
               return right::relative_to(right::largest(exponent), exponent);
             },
             [&](const Vector& exponent) { return stabilised(in, exponent); }));
}

inline void weight_drift(const In& in, const Out& out, const Number& c) {
  with_output(in, out, [&](const Vector& w, const Row& v, Index) { return dot(w, v) / (sum(w) * (Number(1) + c)); });
}

}  // namespace attest::faults::lowrank::performer_attention
