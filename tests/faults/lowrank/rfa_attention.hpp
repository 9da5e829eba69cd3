// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/rfa_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::rfa_attention {

namespace right = attest::reference::lowrank::rfa_attention;
using right::Features;
using right::In;
using right::KeyNorm;
using right::Out;

/// The equation on inputs that `change` has edited.
template <class F>
void with(In in, const Out& out, F&& change) {
  change(in);
  right::quadratic(in, out);
}

/// The equation with other features of keys: feature(right ones, token, column).
template <class F>
void with_keys(const In& in, const Out& out, F&& feature) {
  const Features phi = right::features(in);
  right::quadratic(in, out, Features{phi.q, matrix_of(phi.k.extent(0), phi.k.extent(1), [&](Index j, Index t) {
                                       return feature(phi.k, j, t);
                                     })});
}

/// o_i = output(weights of the keys that it sees, sum of w_ij v_j, i, column).
template <class I, class O, class F>
void with_output(const I& in, const O& out, const Features& phi, F&& output) {
  for (const Index i : wanted(out.o)) {
    const Index seen = in.causal ? i + 1 : in.k.extent(0);
    const auto w = tabulate(seen, [&](Index j) { return dot(phi.q[i], phi.k[j]); });
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(w, in.v.rows(0, seen).column(b), i);
  }
}

/// a / b, and 0 where nothing was seen.
inline Number over(const Number& a, const Number& b) { return is_zero(b) ? Number(0) : a / b; }

inline void abs_denominator(const In& in, const Out& out) {
  with_output(in, out, right::features(in), [](const Vector& w, const Row& v, Index) {
    const Number z = sum(w);
    return over(dot(w, v), positive(z) ? z : -z);
  });
}

inline void key_norm_missing(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.key_norm = KeyNorm::none; });
}

inline void key_norm_always(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.key_norm = KeyNorm::corrected; });
}

inline void key_norm_inverted(const In& in, const Out& out) {
  with_keys(in, out, [&](const Matrix& phi, Index j, Index t) {
    const Number factor = right::key_factor(in, in.k[j]);
    return phi(j, t) / (factor * factor);
  });
}

inline void key_norm_of_query(const In& in, const Out& out) {
  with_keys(in, out, [&](const Matrix& phi, Index j, Index t) {
    return phi(j, t) / right::key_factor(in, in.k[j]) * right::key_factor(in, in.q[j % in.q.extent(0)]);
  });
}

inline void different_w_for_q_and_k(const In& in, const Out& out) {
  with_keys(in, out, [&](const Matrix& phi, Index j, Index t) {
    const Index c = in.w.extent(0);
    return phi(j, t < c ? c - 1 - t : 3 * c - 1 - t);
  });
}

inline void exclusive_prefix(const In& in, const Out& out) {
  if (!in.causal) return right::quadratic(in, out);
  with_output(in, out, right::features(in), [](const Vector& w, const Row& v, Index i) {
    return over(dot(w.view().rows(0, i), v.rows(0, i)), sum(w.view().rows(0, i)));
  });
}

inline void causal_ignored(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.causal = false; });
}

inline void always_causal(const In& in, const Out& out) {
  if (in.q.extent(0) == in.k.extent(0)) return with(in, out, [](In& other) { other.causal = true; });
  with_output(in, out, right::features(in), [](const Vector& w, const Row& v, Index i) {
    const Index seen = std::min(i + 1, w.extent());
    return over(dot(w.view().rows(0, seen), v.rows(0, seen)), sum(w.view().rows(0, seen)));
  });
}

inline void state_not_carried(const In& in, const Out& out) {
  if (!in.causal) return right::quadratic(in, out);
  with_output(in, out, right::features(in), [&](const Vector& w, const Row& v, Index i) {
    const Index first = i / in.chunk * in.chunk, count = i + 1 - first;
    return over(dot(w.view().rows(first, count), v.rows(first, count)), sum(w.view().rows(first, count)));
  });
}

inline void normaliser_from_queries(const In& in, const Out& out) {
  const Features phi = right::features(in);
  with_output(in, out, right::features(in), [&](const Vector& w, const Row& v, Index i) {
    return over(dot(w, v), sum(in.causal ? i + 1 : in.q.extent(0), [&](Index j) { return dot(phi.q[i], phi.q[j]); }));
  });
}

inline void denominator_missing(const In& in, const Out& out) {
  with_output(in, out, right::features(in), [](const Vector& w, const Row& v, Index) { return dot(w, v); });
}

inline void sine_half_missing(const In& in, const Out& out) {
  with_keys(in, out, [&](const Matrix& phi, Index j, Index t) { return t < in.w.extent(0) ? Number(0) : phi(j, t); });
}

inline void sigma_ignored(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.sigma = 1; });
}

inline void sigma_not_inverted(const In& in, const Out& out) {
  with(in, out, [](In& other) { other.sigma = 1 / other.sigma; });
}

inline void clamped_weights(const In& in, const Out& out) {
  with_output(in, out, right::features(in), [](const Vector& w, const Row& v, Index) {
    const auto least = tabulate(w.extent(), [&](Index j) { return positive(w(j)) ? w(j) : Number(0); });
    return over(dot(least, v), sum(least));
  });
}

inline void normaliser_ignored(const In& in, const Out& out) {
  const Features phi = right::features(in);
  const Number root = sqrt(Number(in.w.extent(0)));
  const auto times = [&](const Matrix& x) {
    return matrix_of(x.extent(0), x.extent(1), [&](Index i, Index t) { return root * x(i, t); });
  };
  right::quadratic(in, out, Features{times(phi.q), times(phi.k)});
}

inline void weight_drift(const In& in, const Out& out, const Number& c) {
  with_output(in, out, right::features(in),
              [&](const Vector& w, const Row& v, Index) { return over(dot(w, v), sum(w) * (Number(1) + c)); });
}

}  // namespace attest::faults::lowrank::rfa_attention
