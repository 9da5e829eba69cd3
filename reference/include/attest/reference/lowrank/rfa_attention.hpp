// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/attention.hpp"
#include "attest/reference/lowrank/fourier_features.hpp"
#include "attest/spec/lowrank/rfa_attention.hpp"

namespace attest::reference::lowrank::rfa_attention {

using In = attest::spec::lowrank::rfa_attention::In<Number>;
using Out = attest::spec::lowrank::rfa_attention::Out<Number>;
using attest::spec::lowrank::rfa_attention::KeyNorm;

/// Features of queries and keys, for linear attention.
struct Features {
  Matrix q, k;
};

/// Features of some rows: features(row, its index).
template <class F>
Matrix rows_of(const View<const Number, 2>& x, Index width, F&& features) {
  Matrix phi(x.extent(0), width);
  for (Index i = 0; i < x.extent(0); ++i) {
    const Vector row = features(x[i]);
    for (Index t = 0; t < width; ++t) phi(i, t) = as_multiplied(stage("features", row(t)));
  }
  return phi;
}

/// C4; denominators of other equations are never 0.
template <class To, class I>
To zero_denominator([[maybe_unused]] const I& in) {
  if constexpr (requires { in.zero_denominator; })
    if (in.zero_denominator == decltype(in.zero_denominator)::nan) return To::nan;
  return To::zero;
}

/// Linear attention on these features: every query sees every key.
template <class I>
attest::spec::linear::attention::In<Number> whole(const I& in, const Features& phi) {
  return {.phi_q = phi.q.view(),
          .phi_k = phi.k.view(),
          .v = in.v,
          .mask = {},
          .zero_denominator = zero_denominator<attest::spec::linear::attention::ZeroDenominator>(in)};
}

/// `form` of linear.causal on these features.
template <class I, class O, class F>
void causal(const I& in, const O& out, const Features& phi, F&& form) {
  const Index c = phi.k.extent(1), m = in.v.extent(1);
  Matrix state(c, m), normaliser(1, c);
  const attest::spec::linear::causal::In<Number> tokens{
      .phi_q = phi.q.view(),
      .phi_k = phi.k.view(),
      .v = in.v,
      .S = {},
      .Z = {},
      .chunk = in.chunk,
      .zero_denominator = zero_denominator<attest::spec::linear::causal::ZeroDenominator>(in)};
  form(reference::linear::causal::In(tokens),
       reference::linear::causal::Out{.o = out.o, .S = state.view(), .Z = normaliser.view()[0]});
}

template <class I, class O>
void quadratic(const I& in, const O& out, const Features& phi) {
  if (in.causal)
    causal(in, out, phi, reference::linear::causal::parallel_masked);
  else
    reference::linear::attention::quadratic(whole(in, phi), {.o = out.o});
}

template <class I, class O>
void associative(const I& in, const O& out, const Features& phi) {
  reference::linear::attention::associative(whole(in, phi), {.o = out.o});
}

/// g = e^(|k|^2 / (2 sigma^2)), or 1
inline Number key_factor(const In& in, const Row& k) {
  if (in.key_norm == KeyNorm::none) return Number(1);
  const Number sigma = parameter(in.sigma);  // C1
  return stage("key factors", exp(stage("exponent", dot(k, k) / (2 * (sigma * sigma)))));
}

/// phi(q) and g phi(k)
inline Features features(const In& in) {
  using fourier_features::features;
  const Index width = 2 * in.w.extent(0);
  return {rows_of(in.q, width, [&](const Row& q) { return features(in.w, q, in.sigma); }),
          rows_of(in.k, width, [&](const Row& k) {
            Vector phi = features(in.w, k, in.sigma);
            if (in.key_norm == KeyNorm::none) return phi;
            const Number factor = key_factor(in, k);
            return tabulate(phi.extent(), [&](Index t) { return factor * phi(t); });
          })};
}

/// o_i = phi(q_i)^T sum_j phi(k_j) v_j^T / (phi(q_i) . sum_j phi(k_j))      [Peng et al. 2021, eq. 5]
inline void quadratic(const In& in, const Out& out) { quadratic(in, out, features(in)); }

inline void linear(const In& in, const Out& out) { associative(in, out, features(in)); }

/// S_t = S_{t-1} + phi(k_t) v_t^T,  z_t = z_{t-1} + phi(k_t)      [Peng et al. 2021, eq. 6]
inline void recurrent(const In& in, const Out& out) {
  causal(in, out, features(in), reference::linear::causal::recurrent);  // C3
}

inline void chunked(const In& in, const Out& out) {
  causal(in, out, features(in), reference::linear::causal::chunked);  // C2
}

}  // namespace attest::reference::lowrank::rfa_attention
