// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_backward.hpp"
#include "faults/fault.hpp"

namespace attest::faults::linear::causal_backward {

namespace right = attest::reference::linear::causal_backward;
using reference::linear::causal_step::ratio;
using right::Division;
using right::In;
using right::Normalised;
using right::Out;
using right::State;

/// The equation with e_i or G_i changed.
template <class F>
void with_normalised(const In& in, const Out& out, F&& change) {
  auto x = right::normalised(in);
  for (Index i = 0; i < in.v.extent(0); ++i) change(x, i);
  right::add_up(in, x, out);
}

/// grad_phi_k_i += add(e, i, a) in place of the suffix sum.
template <class F>
void with_key_share(const In& in, const Out& out, F&& add) {
  const auto x = right::normalised(in);
  right::through_numerator(in, x.G, out);
  right::queries_through_denominator(in, x.e, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index a = 0; a < in.phi_k.extent(1); ++a) out.grad_phi_k(i, a) = out.grad_phi_k(i, a) + add(x.e, i, a);
}

/// sum_{first <= j} e_j phi_q_j
inline Number share(const In& in, const Vector& e, Index first, Index a) {
  return sum(e.extent() - first, [&](Index t) { return e(first + t) * in.phi_q(first + t, a); });
}

inline void normaliser_constant(const In& in, const Out& out) {
  right::through_numerator(in, right::normalised(in).G, out);
}

inline void key_share_missing(const In& in, const Out& out) {
  with_key_share(in, out, [](const Vector&, Index, Index) { return Number(0); });
}

inline void query_share_missing(const In& in, const Out& out) {
  const auto x = right::normalised(in);
  right::through_numerator(in, x.G, out);
  right::keys_through_denominator(in, x.e, out);
}

inline void sign_of_e(const In& in, const Out& out) {
  with_normalised(in, out, [](Normalised& x, Index i) { x.e(i) = -x.e(i); });
}

inline void e_from_numerator(const In& in, const Out& out) {
  with_normalised(in, out, [&](Normalised& x, Index i) { x.e(i) = -dot(in.grad_o[i], x.o[i]); });
}

inline void suffix_missing(const In& in, const Out& out) {
  with_key_share(in, out, [&](const Vector& e, Index i, Index a) { return e(i) * in.phi_q(i, a); });
}

inline void full_range(const In& in, const Out& out) {
  with_key_share(in, out, [&](const Vector& e, Index, Index a) { return share(in, e, 0, a); });
}

inline void strict_suffix(const In& in, const Out& out) {
  with_key_share(in, out, [&](const Vector& e, Index i, Index a) { return share(in, e, i + 1, a); });
}

inline void divided_twice(const In& in, const Out& out) {
  with_normalised(in, out, [&](Normalised& x, Index i) {
    for (Index b = 0; b < in.v.extent(1); ++b) x.G(i, b) = ratio(Division{in.eps}, x.G(i, b), x.d(i));
  });
}

inline void undivided(const In& in, const Out& out) {
  with_normalised(in, out, [&](Normalised& x, Index i) {
    for (Index b = 0; b < in.v.extent(1); ++b) x.G(i, b) = in.grad_o(i, b);
  });
}

inline void z_exclusive(const In& in, const Out& out) {
  const auto x = right::normalised(in);
  right::add_up(in, x, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index a = 0; a < in.phi_k.extent(1); ++a)
      out.grad_phi_q(i, a) = out.grad_phi_q(i, a) - x.e(i) * in.phi_k(i, a);
}

inline void global_normaliser(const In& in, const Out& out) {
  const Index n = in.v.extent(0);
  right::add_up(in,
                right::normalised(in, {in.eps},
                                  [&](const State&, Index i) {
                                    return sum(in.phi_k.extent(1), [&](Index a) {
                                      return in.phi_q(i, a) * sum(n, [&](Index j) { return in.phi_k(j, a); });
                                    });
                                  }),
                out);
}

inline void with_division(const In& in, const Out& out, const Division& by) {
  right::add_up(in, right::normalised(in, by, [&](const State& state, Index i) { return dot(in.phi_q[i], state.Z); }),
                out);
}

inline void eps_ignored(const In& in, const Out& out) { with_division(in, out, {0}); }

inline void eps_added(const In& in, const Out& out) { with_division(in, out, {in.eps + 1e-5}); }

inline void nan_of_zero_denominator(const In& in, const Out& out) {
  with_division(in, out, {in.eps, right::ZeroDenominator::nan});
}

inline void normaliser_drift(const In& in, const Out& out, const Number& c) {
  right::add_up(
      in,
      right::normalised(in, {in.eps},
                        [&](const State& state, Index i) { return dot(in.phi_q[i], state.Z) * (Number(1) + c); }),
      out);
}

}  // namespace attest::faults::linear::causal_backward
