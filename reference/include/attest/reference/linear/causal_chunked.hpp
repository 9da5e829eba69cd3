// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "attest/reference/linear/causal_step.hpp"
#include "attest/spec/linear/causal_chunked.hpp"

namespace attest::reference::linear::causal_chunked {

using In = feature_map::Mapped<attest::spec::linear::causal_chunked::In<Number>>;
using Out = attest::spec::linear::causal_chunked::Out<Number>;
using causal_step::ratio;
using causal_step::State;

/// o_i = (phi_q_i^T S + sum_{j <= i} P_ij v_j) / (phi_q_i^T Z + sum_{j <= i} P_ij), S and Z from before these tokens,
/// the first of which is row `first` of o
template <class I>
void read_chunk(const I& in, const State& before, View<const Number, 2> phi_q, View<const Number, 2> phi_k,
                View<const Number, 2> v, View<Number, 2> o, Index first = 0) {
  for (Index i = 0; i < v.extent(0); ++i) {
    if (!is_wanted(o, first + i)) continue;
    const auto p = stage("weights", tabulate(i + 1, [&](Index j) { return dot(phi_q[i], phi_k[j]); }));
    const auto factors = stage("weight factors", p);
    const Number denominator =
        sum(i + 2, [&](Index j) { return j <= i ? as_multiplied(p(j)) : dot(phi_q[i], before.Z); });
    for (Index b = 0; b < v.extent(1); ++b) {
      const Number carried = stage("share of the state", dot(phi_q[i], before.S.column(b)));
      o(first + i, b) = ratio(in, stage("accumulator", dot(factors, v.rows(0, i + 1).column(b), carried)), denominator);
    }
  }
}

/// S <- S + phi_k^T v,  Z <- Z + sum_j phi_k_j; Z may be one more column of the same product.
inline void add_chunk(State& state, View<const Number, 2> phi_k, View<const Number, 2> v) {
  const Index n = phi_k.extent(0);
  for (Index a = 0; a < phi_k.extent(1); ++a) {
    for (Index b = 0; b < v.extent(1); ++b)
      state.S(a, b) = stage("state", dot(phi_k.column(a), v.column(b), state.S(a, b)));
    state.Z(a) =
        stage("normaliser", sum(n + 1, [&](Index j) { return j < n ? as_multiplied(phi_k(j, a)) : state.Z(a); }));
  }
}

/// P = tril(phi_q phi_k^T) beside the carried state.
inline void matrix(const In& in, const Out& out) {
  State state(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1));
  read_chunk(in, state, in.phi_q, in.phi_k, in.v, out.o);
  add_chunk(state, in.phi_k, in.v);
  state.write(out);
}

/// Token after token: written, then read.
template <class I, class O>
void each_token(const I& in, const O& out) {
  State state(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1));
  for (Index i = 0; i < in.v.extent(0); ++i) {
    state.add(in.phi_k[i], in.v[i]);
    if (is_wanted(out.o, i)) causal_step::read(in, state, in.phi_q[i], out.o[i]);
  }
  state.write(out);
}

inline void steps(const In& in, const Out& out) { each_token(in, out); }

/// V = [v | 1] and T = [S | Z]: w_i = phi_q_i^T T + sum_{j <= i} P_ij V_j ends in the denominator, T' = T + phi_k^T V.
inline void augmented(const In& in, const Out& out) {
  const auto [n, m] = in.v.extents();
  const Index c = in.phi_k.extent(1);
  Matrix V(n, m + 1), state(c, m + 1);
  for (Index j = 0; j < n; ++j)
    for (Index b = 0; b <= m; ++b) V(j, b) = b < m ? in.v(j, b) : Number(1);
  for (Index a = 0; a < c; ++a)
    for (Index b = 0; b <= m; ++b) state(a, b) = b < m ? in.S(a, b) : in.Z(a);
  const View<const Number, 2> values = std::as_const(V).view();
  for (const Index i : wanted(out.o)) {
    const auto p = stage("weights", tabulate(i + 1, [&](Index j) { return dot(in.phi_q[i], in.phi_k[j]); }));
    const auto w = tabulate(m + 1, [&](Index b) {
      const Number carried = stage("share of the state", dot(in.phi_q[i], state.column(b)));
      return dot(p, values.rows(0, i + 1).column(b), carried);
    });
    for (Index b = 0; b < m; ++b) out.o(i, b) = ratio(in, stage("accumulator", w(b)), w(m));
  }
  for (Index a = 0; a < c; ++a)
    for (Index b = 0; b <= m; ++b)
      (b < m ? out.S(a, b) : out.Z(a)) =
          stage(b < m ? "state" : "normaliser", dot(in.phi_k.column(a), V.column(b), state(a, b)));
}

}  // namespace attest::reference::linear::causal_chunked
