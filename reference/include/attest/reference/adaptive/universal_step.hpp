// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/transformer_layer.hpp"
#include "attest/spec/adaptive/universal_step.hpp"

namespace attest::reference::adaptive::universal_step {

namespace layer = attention::transformer_layer;
using In = attest::spec::adaptive::universal_step::In<Number>;
using Out = attest::spec::adaptive::universal_step::Out<Number>;
using layer::added;

/// The layer that every step shares; its norm 3 is norm 2 here.
inline layer::In layer_of(const In& in) {
  layer::In l;
  l.w_q = in.w_q, l.w_k = in.w_k, l.w_v = in.w_v, l.w_o = in.w_o;
  l.w_1 = in.w_1, l.b_1 = in.b_1, l.w_2 = in.w_2, l.b_2 = in.b_2;
  l.gamma_1 = in.gamma_1, l.beta_1 = in.beta_1, l.gamma_3 = in.gamma_2, l.beta_3 = in.beta_2;
  l.eps = in.eps;
  l.kind = layer::Kind::encoder_post_norm;
  return l;
}

/// P_t, counted from 0.
inline Matrix signal(const In& in, Index t) { return Matrix(in.p[t], in.x.extent(0), in.x.extent(1)); }

/// h + P_t
inline Matrix with_signal(const In& in, const Matrix& h, Index t) {
  return stage("tokens with signals", stored(added(h, signal(in, t))));
}

/// MHA(x)
inline Matrix attended(const layer::In& l, const Matrix& x) {
  return layer::attention_of(l)(layer::on_tokens(l, x.view()));
}
/// F(a)
inline Matrix transformed(const layer::In& l, const Matrix& a) {
  return stage("network outputs", stored(layer::transformed(l, a)));
}
/// LN(x + branch) with that norm of the layer.
inline Matrix normalised_sum(const layer::In& l, int norm, const Matrix& x, const Matrix& branch) {
  return layer::normalised(l, norm, stage("residual sums", stored(added(x, branch))));
}

/// A_t
inline Matrix first_half(const In& in, const layer::In& l, const Matrix& h, Index t) {
  const Matrix x = with_signal(in, h, t);
  return stage("sublayer outputs", stored(normalised_sum(l, 1, in.residual_position ? x : h, attended(l, x))));
}
/// LN(a + F(a))
inline Matrix second_half(const layer::In& l, const Matrix& a) { return normalised_sum(l, 3, a, transformed(l, a)); }

/// Every form: y = h_T, h_t = next(h_(t-1), t)
template <class F>
void each_step(const In& in, const Out& out, F&& next) {
  const Index steps = in.p.extent(0);
  Matrix h(in.x, in.x.extent(0), in.x.extent(1));
  for (Index t = 0; t < steps; ++t) {
    h = next(h, t);
    if (t + 1 < steps) h = stage("states", stored(std::move(h)));
  }
  for (const Index i : wanted(out.y))
    for (Index a = 0; a < h.extent(1); ++a) out.y(i, a) = h(i, a);
}

/// h_t = LN(A_t + F(A_t)), A_t = LN(r_t + MHA(h_(t-1) + P_t))      [Dehghani et al. 2019, eq. 4 and 5]
inline void step(const In& in, const Out& out) {
  const layer::In l = layer_of(in);
  each_step(in, out, [&](const Matrix& h, Index t) { return second_half(l, first_half(in, l, h, t)); });
}

/// Layers of a transformer, one for each step.
inline void unrolled(const In& in, const Out& out) {
  each_step(in, out, [&](const Matrix& h, Index t) {
    layer::In l = layer_of(in);
    const Matrix x = with_signal(in, h, t);
    l.x = x.view();
    Matrix z(h.extent(0), h.extent(1));
    layer::dense(l, {.z = z.view()});
    return z;
  });
}

}  // namespace attest::reference::adaptive::universal_step
