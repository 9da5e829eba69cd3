// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "attest/reference/linear/causal_numerator_backward.hpp"
#include "attest/reference/linear/causal_step.hpp"
#include "attest/spec/linear/causal_backward.hpp"

namespace attest::reference::linear::causal_backward {

using attest::spec::linear::causal_backward::In;
using attest::spec::linear::causal_backward::Out;
using causal_step::ratio;
using causal_step::State;
namespace numerator = causal_numerator_backward;

/// How the forward pass divides (C1).
struct Division {
  double eps;
  std::string zero_denominator = "zero";
};

/// What the denominators make of grad_o: G_i = grad_o_i / d_i and e_i = -(grad_o_i . o_i) / d_i, beside phi_q_i . Z_i and o_i.
template <class T>
struct Normalised {
  Vector<T> d, e;
  Matrix<T> o, G;
};

/// `denominator(state, i)` is phi_q_i . Z_i
template <class T, class F>
Normalised<T> normalised(const In<T>& in, const Division& by, F&& denominator) {
  const auto [n, m] = in.v.extents();
  Normalised<T> x{Vector<T>(n), Vector<T>(n), Matrix<T>(n, m), Matrix<T>(n, m)};
  State<T> state(in.phi_k.extent(1), m);
  for (Index i = 0; i < n; ++i) {
    state.add(in.phi_k[i], in.v[i]);
    x.d(i) = denominator(state, i);
    for (Index b = 0; b < m; ++b) {
      x.o(i, b) = ratio(by, dot<T>(in.phi_q[i], state.S.column(b)), x.d(i));
      x.G(i, b) = ratio(by, T(in.grad_o(i, b)), x.d(i));
    }
    x.e(i) = -ratio(by, dot<T>(in.grad_o[i], x.o[i]), x.d(i));
  }
  return x;
}

template <class T>
Normalised<T> normalised(const In<T>& in) {
  return normalised(in, {in.eps}, [&](const State<T>& state, Index i) { return dot<T>(in.phi_q[i], state.Z); });
}

/// The gradients of the numerator at G.
template <class T>
void through_numerator(const In<T>& in, const Matrix<T>& G, const Out<T>& out) {
  numerator::two_sweeps<T>({.phi_q = in.phi_q, .phi_k = in.phi_k, .v = in.v, .grad_o = G.view()},
                           {.grad_phi_q = out.grad_phi_q, .grad_phi_k = out.grad_phi_k, .grad_v = out.grad_v});
}

/// grad_phi_q_i += e_i Z_i
template <class T>
void queries_through_denominator(const In<T>& in, const Vector<T>& e, const Out<T>& out) {
  const auto [n, c] = in.phi_k.extents();
  Vector<T> Z(c);
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < c; ++a) {
      Z(a) = Z(a) + in.phi_k(i, a);
      out.grad_phi_q(i, a) = out.grad_phi_q(i, a) + e(i) * Z(a);
    }
}

/// grad_phi_k_i += sum_{j >= i} e_j phi_q_j
template <class T>
void keys_through_denominator(const In<T>& in, const Vector<T>& e, const Out<T>& out) {
  const auto [n, c] = in.phi_k.extents();
  Vector<T> r(c);
  for (Index i = n - 1; i >= 0; --i)
    for (Index a = 0; a < c; ++a) {
      r(a) = r(a) + e(i) * in.phi_q(i, a);
      out.grad_phi_k(i, a) = out.grad_phi_k(i, a) + r(a);
    }
}

template <class T>
void add_up(const In<T>& in, const Normalised<T>& x, const Out<T>& out) {
  through_numerator(in, x.G, out);
  queries_through_denominator(in, x.e, out);
  keys_through_denominator(in, x.e, out);
}

/// The gradients of the numerator at G [Katharopoulos et al. 2020, eq. 13 to 15, corrected], then the denominator's share.
template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  add_up(in, normalised(in), out);
}

/// The denominator is one more column of the numerator: values [v | 1] with cotangents [G | e].
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  const auto [n, m] = in.v.extents();
  const auto x = normalised(in);
  Matrix<T> V(n, m + 1), G(n, m + 1), grad_V(n, m + 1);
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b <= m; ++b) {
      V(i, b) = b < m ? T(in.v(i, b)) : T(1);
      G(i, b) = b < m ? x.G(i, b) : x.e(i);
    }
  numerator::masked_matrices<T>({.phi_q = in.phi_q, .phi_k = in.phi_k, .v = V.view(), .grad_o = G.view()},
                                {.grad_phi_q = out.grad_phi_q, .grad_phi_k = out.grad_phi_k, .grad_v = grad_V.view()});
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b < m; ++b) out.grad_v(i, b) = grad_V(i, b);
}

/// The forward pass recorded: L = sum_i grad_o_i . o_i, differentiated by every input.
template <class T>
void tape(const In<T>& in, const Out<T>& out) {
  const auto [n, m] = in.v.extents();
  Recording<T> recording;
  const auto phi_q = variables<T>(in.phi_q), phi_k = variables<T>(in.phi_k), v = variables<T>(in.v);
  State<Tape<T>> state(in.phi_k.extent(1), m);
  Matrix<Tape<T>> o(n, m);
  std::vector<std::pair<Index, T>> seeds;
  for (Index i = 0; i < n; ++i) {
    state.add(phi_k[i], v[i]);
    causal_step::read(Division{in.eps}, state, phi_q[i], o.view()[i]);
    for (Index b = 0; b < m; ++b) seeds.emplace_back(o(i, b).index(), in.grad_o(i, b));
  }
  const auto adjoints = recording.adjoints(seeds);
  write_adjoints(adjoints, phi_q, out.grad_phi_q);
  write_adjoints(adjoints, phi_k, out.grad_phi_k);
  write_adjoints(adjoints, v, out.grad_v);
}

}  // namespace attest::reference::linear::causal_backward
