// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/layer_norm.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::layer_norm {

namespace right = attest::reference::attention::layer_norm;
using right::centred;
using right::In;
using right::mean;
using right::Out;

/// xhat_a = f(x - mu, v, a) from what two_pass forms.
template <class T, class F>
void with_moments(const In<T>& in, const Out<T>& out, F&& f) {
  right::each_row(in, out, [&](const View<const T, 1>& x) {
    const auto [rest, v] = centred(x);
    return f(x, rest, v);
  });
}

/// The equation with x - shift over sqrt(v + eps).
template <class T>
Vector<T> shifted(const In<T>& in, const View<const T, 1>& x, const T& shift, const T& v) {
  return right::scaled(in, tabulate(x.extent(0), [&](Index a) { return T(x(a) - shift); }), v);
}

/// The mean square of a row.
template <class T>
T mean_square(const View<const T, 1>& x) {
  return mean(x.extent(0), [&](Index a) { return T(x(a) * x(a)); });
}

template <class T>
void unbiased_variance(const In<T>& in, const Out<T>& out) {
  with_moments(in, out, [&](const auto&, const Vector<T>& rest, const T& v) {
    const Index d = rest.extent();
    return right::scaled(in, rest, T(v * T(d) / T(std::max<Index>(d - 1, 1))));
  });
}

/// xhat = (x - mu) / deviation(v)
template <class T, class F>
void with_deviation(const In<T>& in, const Out<T>& out, F&& deviation) {
  with_moments(in, out, [&](const auto&, const Vector<T>& rest, const T& v) {
    const T by = deviation(v);
    return tabulate(rest.extent(), [&](Index a) { return T(rest(a) / by); });
  });
}

template <class T>
void eps_outside_sqrt(const In<T>& in, const Out<T>& out) {
  with_deviation(in, out, [&](const T& v) { return T(sqrt(v) + T(in.eps)); });
}

template <class T>
void variance_not_rooted(const In<T>& in, const Out<T>& out) {
  with_deviation(in, out, [&](const T& v) { return T(v + T(in.eps)); });
}

template <class T>
void normaliser_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_deviation(in, out, [&](const T& v) { return T(sqrt(v + T(in.eps)) / (T(1) + c)); });
}

template <class T>
void reciprocal_root(const In<T>& in, const Out<T>& out) {
  with_moments(in, out, [&](const auto&, const Vector<T>& rest, const T& v) {
    const T by = T(1) / sqrt(v + T(in.eps));
    return tabulate(rest.extent(), [&](Index a) { return T(rest(a) * by); });
  });
}

template <class T>
void with_eps(const In<T>& in, const Out<T>& out, double eps) {
  In<T> other = in;
  other.eps = eps;
  right::two_pass(other, out);
}

template <class T>
void eps_missing(const In<T>& in, const Out<T>& out) { with_eps(in, out, in.x.extent(1) > 1 ? 0 : in.eps); }

template <class T>
void eps_default(const In<T>& in, const Out<T>& out) { with_eps(in, out, 1e-5); }

template <class T>
void rms_norm(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [&](const View<const T, 1>& x) { return shifted(in, x, T(0), mean_square(x)); });
}

template <class T>
void mean_kept_in_variance(const In<T>& in, const Out<T>& out) {
  with_moments(in, out, [&](const auto& x, const Vector<T>& rest, const T&) { return right::scaled(in, rest, mean_square(x)); });
}

/// The equation with the moments of f(i, a), entries x(i, a) each.
template <class T, class F>
void normalised_over(const In<T>& in, const Out<T>& out, Index count, F&& entry) {
  const auto [n, d] = in.x.extents();
  Matrix<T> xhat(n, d);
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < xhat.extent(1); ++a) {
      const auto all = tabulate(count, [&](Index t) { return T(entry(t, a)); });
      const T mu = mean(count, [&](Index t) { return all(t); });
      const T v = mean(count, [&](Index t) { return T((all(t) - mu) * (all(t) - mu)); });
      xhat(i, a) = (in.x(i, a) - mu) / sqrt(v + T(in.eps));
    }
  Index i = 0;
  right::each_row(in, out, [&](const auto&) {
    const Index row = i++;
    return tabulate(xhat.extent(1), [&](Index a) { return xhat(row, a); });
  });
}

template <class T>
void token_axis(const In<T>& in, const Out<T>& out) {
  normalised_over(in, out, in.x.extent(0), [&](Index t, Index a) { return in.x(t, a); });
}

template <class T>
void all_together(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1);
  normalised_over(in, out, in.x.extent(0) * d, [&](Index t, Index) { return in.x(t / d, t % d); });
}

template <class T>
void naive_variance(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [&](const View<const T, 1>& x) {
    const T mu = mean(x.extent(0), [&](Index a) { return T(x(a)); });
    return shifted(in, x, mu, T(mean_square(x) - mu * mu));
  });
}

template <class T>
void last_feature_dropped(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [&](const View<const T, 1>& x) {
    const Index d = x.extent(0), even = std::max<Index>(d - d % 2, 1);
    const T mu = mean(even, [&](Index a) { return T(x(a)); });
    return shifted(in, x, mu, mean(even, [&](Index a) { return T((x(a) - mu) * (x(a) - mu)); }));
  });
}

/// The equation, then out.y(i, a) = f(xhat, a).
template <class T, class F>
void with_gain(const In<T>& in, const Out<T>& out, F&& f) {
  In<T> bare = in;
  bare.gamma = {}, bare.beta = {};
  right::two_pass(bare, out);
  const auto gamma = [&](Index a) { return in.gamma ? T(in.gamma(a)) : T(1); };
  const auto beta = [&](Index a) { return in.beta ? T(in.beta(a)) : T(0); };
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = f(T(out.y(i, a)), gamma(a), beta(a));
}

template <class T>
void beta_before_gamma(const In<T>& in, const Out<T>& out) {
  with_gain(in, out, [](const T& xhat, const T& gamma, const T& beta) { return T(gamma * (xhat + beta)); });
}

template <class T>
void gamma_ignored(const In<T>& in, const Out<T>& out) {
  with_gain(in, out, [](const T& xhat, const T&, const T& beta) { return T(xhat + beta); });
}

template <class T>
void gamma_plus_one(const In<T>& in, const Out<T>& out) {
  with_gain(in, out, [](const T& xhat, const T& gamma, const T& beta) { return T((T(1) + gamma) * xhat + beta); });
}

template <class T>
void beta_ignored(const In<T>& in, const Out<T>& out) {
  with_gain(in, out, [](const T& xhat, const T& gamma, const T&) { return T(gamma * xhat); });
}

}  // namespace attest::faults::attention::layer_norm
