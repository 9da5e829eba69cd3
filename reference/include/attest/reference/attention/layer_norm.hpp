// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/attention/layer_norm.hpp"

namespace attest::reference::attention::layer_norm {

using attest::spec::attention::layer_norm::In;
using attest::spec::attention::layer_norm::Out;

/// (1/n) sum_a f(a)
template <class F>
auto mean(Index n, F&& f) {
  using T = std::decay_t<decltype(f(Index{0}))>;
  return T(sum(n, f) / T(n));
}

/// Every form: y_i = gamma xhat(x_i) + beta.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& xhat) {
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto y = xhat(in.x[i]);
    for (Index a = 0; a < in.x.extent(1); ++a) {
      const T scaled = in.gamma ? T(in.gamma(a) * y(a)) : y(a);
      out.y(i, a) = in.beta ? T(scaled + in.beta(a)) : scaled;
    }
  }
}

/// x_a - mu and its mean square.
template <class T>
std::pair<Vector<T>, T> centred(const View<const T, 1>& x) {
  const Index d = x.extent(0);
  const T mu = mean(d, [&](Index a) { return T(x(a)); });
  const auto rest = tabulate(d, [&](Index a) { return T(x(a) - mu); });
  return {rest, mean(d, [&](Index a) { return T(rest(a) * rest(a)); })};
}

/// x_a / sqrt(v + eps)
template <class T>
Vector<T> scaled(const In<T>& in, const Vector<T>& x, const T& v) {
  const T deviation = sqrt(v + T(in.eps));
  return tabulate(x.extent(), [&](Index a) { return T(x(a) / deviation); });
}

/// y_a = gamma_a (x_a - mu) / sqrt(v + eps) + beta_a      [Ba et al. 2016, eq. 3 and 4]
template <class T>
void two_pass(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [&](const View<const T, 1>& x) {
    const auto [rest, v] = centred(x);
    return scaled(in, rest, v);
  });
}

/// mu <- mu + (x_a - mu) / (a + 1),  s <- s + (x_a - mu before)(x_a - mu after),  v = s / d      [Welford 1962]
template <class T>
void welford(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [&](const View<const T, 1>& x) {
    const Index d = x.extent(0);
    T mu = x(0), s = T(0);
    for (Index a = 1; a < d; ++a) {
      const T before = x(a) - mu;
      mu = mu + before / T(a + 1);
      s = s + before * (x(a) - mu);
    }
    return scaled(in, tabulate(d, [&](Index a) { return T(x(a) - mu); }), T(s / T(d)));
  });
}

/// z = x P with P = I - 1 1^T / d,  v = |z|^2 / d
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1);
  Matrix<T> P(d, d);
  for (Index a = 0; a < d; ++a)
    for (Index b = 0; b < d; ++b) P(a, b) = T(a == b ? d - 1 : -1) / T(d);
  each_row(in, out, [&](const View<const T, 1>& x) {
    const auto z = tabulate(d, [&](Index a) { return dot<T>(x, std::as_const(P).column(a)); });
    return scaled(in, z, T(dot<T>(z, z) / T(d)));
  });
}

}  // namespace attest::reference::attention::layer_norm
