// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/feature_map.hpp"
#include "attest/spec/linear/causal_step.hpp"

namespace attest::reference::linear::causal_step {

using In = feature_map::Mapped<attest::spec::linear::causal_step::In<Number>>;
using Out = attest::spec::linear::causal_step::Out<Number>;
using attest::spec::linear::causal_step::ZeroDenominator;

/// The state after the tokens so far: S = sum_j phi_k_j v_j^T and Z = sum_j phi_k_j.
struct State {
  Matrix S;
  Vector Z;

  /// No tokens.
  State(Index c, Index m) : S(c, m), Z(c) {}
  /// The carried state; zero where it is not given.
  State(View<const Number, 2> carried_S, Row carried_Z, Index c, Index m)
      : S(carried_S, c, m), Z(tabulate(c, [&](Index a) { return carried_Z ? Number(carried_Z(a)) : Number(0); })) {}

  /// S <- S + phi_k v^T,  Z <- Z + phi_k
  void add(Row phi_k, Row v) {
    for (Index a = 0; a < S.extent(0); ++a) {
      for (Index b = 0; b < S.extent(1); ++b) S(a, b) = stage("state", S(a, b) + phi_k(a) * v(b));
      Z(a) = stage("normaliser", Z(a) + phi_k(a));
    }
  }

  /// The outputs of the same names.
  template <class O>
  void write(const O& out) const {
    for (Index a = 0; a < S.extent(0); ++a) {
      for (Index b = 0; b < S.extent(1); ++b) out.S(a, b) = S(a, b);
      out.Z(a) = Z(a);
    }
  }
};

/// numerator / (denominator + eps), and the convention where that denominator is 0 (C1).
template <class I>
Number ratio(const I& in, const Number& numerator, const Number& denominator) {
  const Number d = stage("denominator", in.eps == 0 ? denominator : denominator + parameter(in.eps));
  if (is_zero(d)) return in.zero_denominator == ZeroDenominator::nan ? not_a_number() : Number(0);
  return numerator / d;
}

/// o = phi_q^T S / (phi_q^T Z)
template <class I>
void read(const I& in, const State& state, Row phi_q, View<Number, 1> o) {
  const Number denominator = dot(phi_q, state.Z);
  for (Index b = 0; b < o.extent(0); ++b)
    o(b) = ratio(in, stage("accumulator", dot(phi_q, state.S.column(b))), denominator);
}

/// S' = S + phi_k v^T,  Z' = Z + phi_k,  o = phi_q^T S' / (phi_q^T Z')      [Katharopoulos et al. 2020, eq. 10 to 12]
inline void update_then_read(const In& in, const Out& out) {
  State state(in.S, in.Z, in.phi_k.extent(0), in.v.extent(0));
  state.add(in.phi_k, in.v);
  read(in, state, in.phi_q, out.o);
  state.write(out);
}

/// o = (phi_q^T S + (phi_q . phi_k) v) / (phi_q^T Z + phi_q . phi_k)
inline void read_then_correct(const In& in, const Out& out) {
  State state(in.S, in.Z, in.phi_k.extent(0), in.v.extent(0));
  const Number p = stage("weights", dot(in.phi_q, in.phi_k)), factor = stage("weight factors", p);
  const Number denominator = dot(in.phi_q, state.Z) + p;
  for (Index b = 0; b < in.v.extent(0); ++b) {
    const Number before = stage("share of the state", dot(in.phi_q, state.S.column(b)));
    out.o(b) = ratio(in, stage("accumulator", before + factor * in.v(b)), denominator);
  }
  state.add(in.phi_k, in.v);
  state.write(out);
}

}  // namespace attest::reference::linear::causal_step
