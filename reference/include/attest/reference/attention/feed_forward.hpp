// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/attention/feed_forward.hpp"

namespace attest::reference::attention::feed_forward {

using In = attest::spec::attention::feed_forward::In<Number>;
using Out = attest::spec::attention::feed_forward::Out<Number>;
using attest::spec::attention::feed_forward::Activation;

/// sqrt(2 / pi)
inline const Constant steepness([] { return sqrt(2 / pi()); });

/// act(u); gelu_tanh is u/2 (1 + tanh(t)) with t = sqrt(2/pi) (u + 0.044715 u^3)
/// [Hendrycks and Gimpel 2016, section 2]. Where u is negative, 1 + tanh and the 1 - tanh^2 of its gradient are right
/// beside 1, not beside themselves; u sigmoid(2 t) is finer.
inline Number activated(const In& in, const Number& u) {
  if (in.activation == Activation::identity) return u;
  if (in.activation == Activation::relu) return larger(u, 0);
  return u / 2 * (1 + tanh(steepness * (u + rational(44715, 1000000) * u * u * u)));
}

/// x, or x + bias where there is one; x is a sum of so many products that kernels may add to the bias one by one.
inline Number biased(const Row& bias, Index a, const Number& x, Index products = 0) {
  return bias ? reference::biased(x, bias(a), products) : x;
}

/// act(x w_1 + b_1) for one token.
inline Vector hidden(const In& in, const Row& x) {
  return stage("hidden", tabulate(in.w_1.extent(1), [&](Index t) {
                 return activated(in,
                                  stage("pre-activations", biased(in.b_1, t, dot(x, in.w_1.column(t)), x.extent(0))));
               }));
}

/// y_i = act(x_i w_1 + b_1) w_2 + b_2      [Vaswani et al. 2017, eq. 2]
inline void dense(const In& in, const Out& out) {
  for (const Index i : wanted(out.y)) {
    const auto y = product(hidden(in, in.x[i]), in.w_2);
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = biased(in.b_2, a, y(a), in.w_2.extent(0));
  }
}

/// y(o, t) = b(o) + sum_{c, u < width} x(c, t + u) w(u, c, o) over channels c and tokens t; the bias is a term of the
/// sum, with which kernels may begin
template <class F>
Matrix convolved(const Matrix& x, Index channels_out, Index width, const Row& bias, F&& w) {
  const Index products = x.extent(0) * width;
  Matrix y(channels_out, x.extent(1) - width + 1);
  for (Index o = 0; o < channels_out; ++o)
    for (Index t = 0; t < y.extent(1); ++t)
      y(o, t) = sum(products + (bias ? 1 : 0), [&](Index s) {
        return s == products ? bias(o) : x(s / width, t + s % width) * w(s % width, s / width, o);
      });
  return y;
}

/// The layers as convolutions of width 1 over [channels, tokens]
inline void conv1(const In& in, const Out& out) {
  const auto [n, d] = in.x.extents();
  Matrix x(d, n);
  for (Index t = 0; t < n; ++t)
    for (Index c = 0; c < d; ++c) x(c, t) = in.x(t, c);
  Matrix h = convolved(x, in.w_1.extent(1), 1, in.b_1, [&](Index, Index c, Index o) { return in.w_1(c, o); });
  for (Index c = 0; c < h.extent(0); ++c)
    for (Index t = 0; t < n; ++t) h(c, t) = stage("hidden", activated(in, stage("pre-activations", h(c, t))));
  const Matrix y = convolved(h, d, 1, in.b_2, [&](Index, Index c, Index o) { return in.w_2(c, o); });
  for (const Index t : wanted(out.y))
    for (Index c = 0; c < d; ++c) out.y(t, c) = y(c, t);
}

/// The equation on each chunk of tokens      [Kitaev et al. 2020]
inline void chunked(const In& in, const Out& out) {
  for (Index first = 0; first < in.x.extent(0); first += in.chunk) {
    const Index count = std::min(in.chunk, in.x.extent(0) - first);
    In part = in;
    part.x = in.x.rows(first, count);
    dense(part, {.y = out.y.rows(first, count)});
  }
}

}  // namespace attest::reference::attention::feed_forward
