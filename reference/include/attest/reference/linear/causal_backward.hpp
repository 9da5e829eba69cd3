// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_numerator_backward.hpp"
#include "attest/reference/linear/causal_step.hpp"
#include "attest/spec/linear/causal_backward.hpp"

namespace attest::reference::linear::causal_backward {

using In = attest::spec::linear::causal_backward::In<Number>;
using Out = attest::spec::linear::causal_backward::Out<Number>;
using causal_step::ratio;
using causal_step::State;
using causal_step::ZeroDenominator;
namespace numerator = causal_numerator_backward;

/// How the forward pass divides (C1).
struct Division {
  double eps;
  ZeroDenominator zero_denominator = ZeroDenominator::zero;
};

/// grad_o through the denominators: G_i = grad_o_i / d_i and e_i = -(grad_o_i . o_i) / d_i, beside phi_q_i . Z_i
/// and o_i.
struct Normalised {
  Vector d, e;
  Matrix o, G;
};

/// `denominator(state, i)` is phi_q_i . Z_i
template <class F>
Normalised normalised(const In& in, const Division& by, F&& denominator) {
  const auto [n, m] = in.v.extents();
  Normalised x{Vector(n), Vector(n), Matrix(n, m), Matrix(n, m)};
  State state(in.phi_k.extent(1), m);
  for (Index i = 0; i < n; ++i) {
    state.add(in.phi_k[i], in.v[i]);
    x.d(i) = denominator(state, i);
    for (Index b = 0; b < m; ++b) {
      const Number accumulator = stage("accumulator", dot(in.phi_q[i], state.S.column(b)));
      x.o(i, b) = stage("forward outputs", ratio(by, accumulator, x.d(i)));
      x.G(i, b) = stage("grad accumulator", ratio(by, in.grad_o(i, b), x.d(i)));
    }
    const Number delta = stage("delta", dot(in.grad_o[i], x.o[i]));
    x.e(i) = stage("grad denominator", -ratio(by, delta, x.d(i)));
  }
  return x;
}

inline Normalised normalised(const In& in) {
  return normalised(in, {in.eps}, [&](const State& state, Index i) { return dot(in.phi_q[i], state.Z); });
}

/// The gradients of the numerator at G.
inline void through_numerator(const In& in, const Matrix& G, const Out& out) {
  numerator::two_sweeps({.phi_q = in.phi_q, .phi_k = in.phi_k, .v = in.v, .grad_o = G.view()},
                        {.grad_phi_q = out.grad_phi_q, .grad_phi_k = out.grad_phi_k, .grad_v = out.grad_v});
}

/// x + y, x being what the numerator gives
inline Number with_denominator(const Number& x, const Number& y) { return stage("share of the numerator", x) + y; }

/// grad_phi_q_i += e_i Z_i
inline void queries_through_denominator(const In& in, const Vector& e, const Out& out) {
  const auto [n, c] = in.phi_k.extents();
  Vector Z(c);
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < c; ++a) {
      Z(a) = stage("normaliser", Z(a) + in.phi_k(i, a));
      out.grad_phi_q(i, a) = with_denominator(out.grad_phi_q(i, a), e(i) * Z(a));
    }
}

/// grad_phi_k_i += sum_{j >= i} e_j phi_q_j
inline void keys_through_denominator(const In& in, const Vector& e, const Out& out) {
  const auto [n, c] = in.phi_k.extents();
  Vector r(c);
  for (Index i = n - 1; i >= 0; --i)
    for (Index a = 0; a < c; ++a) {
      r(a) = stage("grad normaliser", r(a) + e(i) * in.phi_q(i, a));
      out.grad_phi_k(i, a) = with_denominator(out.grad_phi_k(i, a), r(a));
    }
}

inline void add_up(const In& in, const Normalised& x, const Out& out) {
  through_numerator(in, x.G, out);
  queries_through_denominator(in, x.e, out);
  keys_through_denominator(in, x.e, out);
}

/// The gradients of the numerator at G [Katharopoulos et al. 2020, eq. 13 to 15, corrected], then the denominator's
/// share.
inline void closed(const In& in, const Out& out) { add_up(in, normalised(in), out); }

/// The denominator is one more column of the numerator: values [v | 1] with cotangents [G | e].
inline void augmented(const In& in, const Out& out) {
  const auto [n, m] = in.v.extents();
  const auto x = normalised(in);
  Matrix V(n, m + 1), G(n, m + 1), grad_V(n, m + 1);
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b <= m; ++b) {
      V(i, b) = b < m ? in.v(i, b) : Number(1);
      G(i, b) = b < m ? x.G(i, b) : x.e(i);
    }
  numerator::masked_matrices({.phi_q = in.phi_q, .phi_k = in.phi_k, .v = V.view(), .grad_o = G.view()},
                             {.grad_phi_q = out.grad_phi_q, .grad_phi_k = out.grad_phi_k, .grad_v = grad_V.view()});
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = grad_V(i, b);
}

/// The forward pass recorded: L = sum_i grad_o_i . o_i, differentiated by every input.
inline void tape(const In& in, const Out& out) {
  const auto [n, m] = in.v.extents();
  Tape tape;
  const auto phi_q = tape.variables(in.phi_q), phi_k = tape.variables(in.phi_k), v = tape.variables(in.v);
  State state(in.phi_k.extent(1), m);
  Matrix o(n, m);
  for (Index i = 0; i < n; ++i) {
    state.add(phi_k[i], v[i]);
    causal_step::read(Division{in.eps}, state, phi_q[i], o.view()[i]);
    for (Index b = 0; b < m; ++b) tape.seed(o(i, b), in.grad_o(i, b));
  }
  tape.differentiate();
  tape.write_adjoints(phi_q, out.grad_phi_q);
  tape.write_adjoints(phi_k, out.grad_phi_k);
  tape.write_adjoints(v, out.grad_v);
}

}  // namespace attest::reference::linear::causal_backward
