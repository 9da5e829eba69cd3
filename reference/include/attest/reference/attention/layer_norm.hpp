// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/attention/layer_norm.hpp"

namespace attest::reference::attention::layer_norm {

using In = attest::spec::attention::layer_norm::In<Number>;
using Out = attest::spec::attention::layer_norm::Out<Number>;

/// (1/n) sum_a f(a)
template <class F>
auto mean(Index n, F&& f) {
  return sum(n, f) / Number(n);
}

/// Every form: y_i = gamma xhat(x_i) + beta.
template <class F>
void each_row(const In& in, const Out& out, F&& xhat) {
  for (const Index i : wanted(out.y)) {
    auto y = xhat(in.x[i]);
    if (in.gamma || in.beta) y = stage("normalised", std::move(y));
    for (Index a = 0; a < in.x.extent(1); ++a) {
      Number scaled = in.gamma ? Number(in.gamma(a) * operand(y(a))) : y(a);
      if (in.gamma && in.beta) scaled = stage("normalised times gamma", std::move(scaled));
      out.y(i, a) = in.beta ? scaled + in.beta(a) : scaled;
    }
  }
}

/// x_a - mu and its mean square.
inline std::pair<Vector, Number> centred(const Row& x) {
  const Index d = x.extent(0);
  const Number mu = stage("mean", mean(d, [&](Index a) { return x(a); }));
  const auto rest = stage("centred", tabulate(d, [&](Index a) { return x(a) - mu; }));
  return {rest, mean(d, [&](Index a) { return rest(a) * rest(a); })};
}

/// x_a / sqrt(v + eps)
inline Vector scaled(const In& in, const Vector& x, const Number& v) {
  const Number deviation = stage("deviation", sqrt(stage("variance", v) + parameter(in.eps)));
  return tabulate(x.extent(), [&](Index a) { return x(a) / deviation; });
}

/// y_a = gamma_a (x_a - mu) / sqrt(v + eps) + beta_a      [Ba et al. 2016, eq. 3 and 4]
inline void two_pass(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) {
    const auto [rest, v] = centred(x);
    return scaled(in, rest, v);
  });
}

/// mu <- mu + (x_a - mu) / (a + 1),  s <- s + (x_a - mu before)(x_a - mu after),  v = s / d      [Welford 1962]
inline void welford(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) {
    const Index d = x.extent(0);
    Number mu = x(0), s = Number(0);
    for (Index a = 1; a < d; ++a) {
      const Number before = x(a) - mu;
      mu = stage("mean", mu + before / Number(a + 1));
      s = stage("sum of squares", s + before * (x(a) - mu));
    }
    return scaled(in, stage("centred", tabulate(d, [&](Index a) { return x(a) - mu; })), s / Number(d));
  });
}

/// z = x P with P = I - 1 1^T / d,  v = |z|^2 / d
inline void matrix(const In& in, const Out& out) {
  const Index d = in.x.extent(1);
  Matrix P(d, d);
  for (Index a = 0; a < d; ++a)
    for (Index b = 0; b < d; ++b) P(a, b) = stage("centring matrix", Number(a == b ? d - 1 : -1) / Number(d));
  each_row(in, out, [&](const Row& x) {
    const auto z = stage("centred", product(x, P));
    return scaled(in, z, dot(z, z) / Number(d));
  });
}

}  // namespace attest::reference::attention::layer_norm
