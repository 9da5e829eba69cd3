// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/positive_features.hpp"
#include "attest/reference/lowrank/rfa_attention.hpp"
#include "attest/spec/lowrank/performer_attention.hpp"

namespace attest::reference::lowrank::performer_attention {

using In = attest::spec::lowrank::performer_attention::In<Number>;
using Out = attest::spec::lowrank::performer_attention::Out<Number>;
using rfa_attention::associative;
using rfa_attention::Features;

/// x / d^(1/4)
inline Vector scaled(const Row& x) {
  const Number root = sqrt(sqrt(Number(x.extent(0))));
  return stage("scaled inputs", tabulate(x.extent(0), [&](Index a) { return x(a) / root; }));
}

/// w_r . x' - |x'|^2 / 2
inline Vector exponents(const In& in, const Row& x) { return positive_features::exponents(in.w, scaled(x), false); }

/// Features of queries and keys, query(x, exponents) and key(x, exponents) being what is made of the exponents.
template <class Q, class K>
Features features(const In& in, Q&& query, K&& key) {
  const Index c = in.w.extent(0);
  return {rfa_attention::rows_of(in.q, c, [&](const Row& x) { return query(exponents(in, x)); }),
          rfa_attention::rows_of(in.k, c, [&](const Row& x) { return key(exponents(in, x)); })};
}

/// (e^t + stabiliser) / sqrt(c)
inline Vector stabilised(const In& in, const Vector& exponent) {
  const Number root = sqrt(Number(exponent.extent()));
  return tabulate(exponent.extent(), [&](Index r) {
    const Number e = stage("exponentials", exp(stage("exponent", exponent(r))));
    return (in.stabiliser == 0 ? e : e + parameter(in.stabiliser)) / root;  // C3
  });
}

inline Features features(const In& in) {
  const auto phi = [&](const Vector& exponent) { return stabilised(in, exponent); };
  return features(in, phi, phi);
}

/// o_i = phi(q_i)^T sum_j phi(k_j) v_j^T / (phi(q_i) . sum_j phi(k_j))      [Choromanski et al. 2021, section 2]
inline void quadratic(const In& in, const Out& out) { rfa_attention::quadratic(in, out, features(in)); }

inline void linear(const In& in, const Out& out) { associative(in, out, features(in)); }

/// The state takes a token, then it is read.
inline void recurrent(const In& in, const Out& out) {
  rfa_attention::causal(in, out, features(in), reference::linear::causal::recurrent);  // C2
}

/// The largest of some exponents.
inline Number largest(const Vector& x) {
  return pivot_max(x.extent(), [&](Index r) { return x(r); });
}

/// e^(t - m) / sqrt(c)
inline Vector relative_to(const Number& m, const Vector& exponent) {
  const Number root = sqrt(Number(exponent.extent()));
  return tabulate(exponent.extent(),
                  [&](Index r) { return stage("exponentials", exp(stage("exponent", exponent(r) - m))) / root; });
}

/// Queries relative to their own largest exponent, keys to the largest of all.
inline void shifted(const In& in, const Out& out) {
  const Number most = pivot_max(in.k.extent(0), [&](Index j) { return largest(exponents(in, in.k[j])); });
  rfa_attention::quadratic(in, out,
                           features(
                               in, [](const Vector& exponent) { return relative_to(largest(exponent), exponent); },
                               [&](const Vector& exponent) { return relative_to(most, exponent); }));
}

}  // namespace attest::reference::lowrank::performer_attention
