// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_backward.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::causal_backward {

namespace right = attest::reference::linear::causal_backward;
using reference::linear::causal_step::ratio;
using right::Division;
using right::In;
using right::Normalised;
using right::Out;
using right::State;

/// The equation with e_i or G_i changed.
template <class T, class F>
void with_normalised(const In<T>& in, const Out<T>& out, F&& change) {
  auto x = right::normalised(in);
  for (Index i = 0; i < in.v.extent(0); ++i) change(x, i);
  right::add_up(in, x, out);
}

/// grad_phi_k_i += add(e, i, a) in place of the suffix sum.
template <class T, class F>
void with_key_share(const In<T>& in, const Out<T>& out, F&& add) {
  const auto x = right::normalised(in);
  right::through_numerator(in, x.G, out);
  right::queries_through_denominator(in, x.e, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index a = 0; a < in.phi_k.extent(1); ++a) out.grad_phi_k(i, a) = out.grad_phi_k(i, a) + add(x.e, i, a);
}

/// sum_{first <= j} e_j phi_q_j
template <class T>
T share(const In<T>& in, const Vector<T>& e, Index first, Index a) {
  return sum(e.extent() - first, [&](Index t) { return e(first + t) * in.phi_q(first + t, a); });
}

template <class T>
void normaliser_constant(const In<T>& in, const Out<T>& out) { right::through_numerator(in, right::normalised(in).G, out); }

template <class T>
void key_share_missing(const In<T>& in, const Out<T>& out) {
  with_key_share(in, out, [](const Vector<T>&, Index, Index) { return T(0); });
}

template <class T>
void query_share_missing(const In<T>& in, const Out<T>& out) {
  const auto x = right::normalised(in);
  right::through_numerator(in, x.G, out);
  right::keys_through_denominator(in, x.e, out);
}

template <class T>
void sign_of_e(const In<T>& in, const Out<T>& out) {
  with_normalised(in, out, [](Normalised<T>& x, Index i) { x.e(i) = -x.e(i); });
}

template <class T>
void e_from_numerator(const In<T>& in, const Out<T>& out) {
  with_normalised(in, out, [&](Normalised<T>& x, Index i) { x.e(i) = -dot<T>(in.grad_o[i], x.o[i]); });
}

template <class T>
void suffix_missing(const In<T>& in, const Out<T>& out) {
  with_key_share(in, out, [&](const Vector<T>& e, Index i, Index a) { return e(i) * in.phi_q(i, a); });
}

template <class T>
void full_range(const In<T>& in, const Out<T>& out) {
  with_key_share(in, out, [&](const Vector<T>& e, Index, Index a) { return share(in, e, 0, a); });
}

template <class T>
void strict_suffix(const In<T>& in, const Out<T>& out) {
  with_key_share(in, out, [&](const Vector<T>& e, Index i, Index a) { return share(in, e, i + 1, a); });
}

template <class T>
void divided_twice(const In<T>& in, const Out<T>& out) {
  with_normalised(in, out, [&](Normalised<T>& x, Index i) {
    for (Index b = 0; b < in.v.extent(1); ++b) x.G(i, b) = ratio(Division{in.eps}, x.G(i, b), x.d(i));
  });
}

template <class T>
void undivided(const In<T>& in, const Out<T>& out) {
  with_normalised(in, out, [&](Normalised<T>& x, Index i) {
    for (Index b = 0; b < in.v.extent(1); ++b) x.G(i, b) = in.grad_o(i, b);
  });
}

template <class T>
void z_exclusive(const In<T>& in, const Out<T>& out) {
  const auto x = right::normalised(in);
  right::add_up(in, x, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index a = 0; a < in.phi_k.extent(1); ++a) out.grad_phi_q(i, a) = out.grad_phi_q(i, a) - x.e(i) * in.phi_k(i, a);
}

template <class T>
void global_normaliser(const In<T>& in, const Out<T>& out) {
  const Index n = in.v.extent(0);
  right::add_up(in, right::normalised(in, {in.eps}, [&](const State<T>&, Index i) {
    return sum(in.phi_k.extent(1), [&](Index a) { return in.phi_q(i, a) * sum(n, [&](Index j) { return T(in.phi_k(j, a)); }); });
  }), out);
}

template <class T>
void with_division(const In<T>& in, const Out<T>& out, const Division& by) {
  right::add_up(in, right::normalised(in, by, [&](const State<T>& state, Index i) { return dot<T>(in.phi_q[i], state.Z); }), out);
}

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) { with_division(in, out, {0}); }

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) { with_division(in, out, {in.eps + 1e-5}); }

template <class T>
void nan_of_zero_denominator(const In<T>& in, const Out<T>& out) { with_division(in, out, {in.eps, "nan"}); }

template <class T>
void normaliser_drift(const In<T>& in, const Out<T>& out, const T& c) {
  right::add_up(in, right::normalised(in, {in.eps}, [&](const State<T>& state, Index i) { return T(dot<T>(in.phi_q[i], state.Z) * (T(1) + c)); }), out);
}

}  // namespace attest::faults::linear::causal_backward
