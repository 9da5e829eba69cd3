// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/layer_norm.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::layer_norm {

namespace right = attest::reference::attention::layer_norm;
using right::centred;
using right::In;
using right::mean;
using right::Out;

/// xhat_a = f(x - mu, v, a) from what two_pass forms.
template <class F>
void with_moments(const In& in, const Out& out, F&& f) {
  right::each_row(in, out, [&](const Row& x) {
    const auto [rest, v] = centred(x);
    return f(x, rest, v);
  });
}

/// The equation with x - shift over sqrt(v + eps).
inline Vector shifted(const In& in, const Row& x, const Number& shift, const Number& v) {
  return right::scaled(in, tabulate(x.extent(0), [&](Index a) { return x(a) - shift; }), v);
}

/// The mean square of a row.
inline Number mean_square(const Row& x) {
  return mean(x.extent(0), [&](Index a) { return x(a) * x(a); });
}

inline void unbiased_variance(const In& in, const Out& out) {
  with_moments(in, out, [&](const auto&, const Vector& rest, const Number& v) {
    const Index d = rest.extent();
    return right::scaled(in, rest, v * Number(d) / Number(std::max<Index>(d - 1, 1)));
  });
}

/// xhat = (x - mu) / deviation(v)
template <class F>
void with_deviation(const In& in, const Out& out, F&& deviation) {
  with_moments(in, out, [&](const auto&, const Vector& rest, const Number& v) {
    const Number by = deviation(v);
    return tabulate(rest.extent(), [&](Index a) { return rest(a) / by; });
  });
}

inline void eps_outside_sqrt(const In& in, const Out& out) {
  with_deviation(in, out, [&](const Number& v) { return sqrt(v) + parameter(in.eps); });
}

inline void variance_not_rooted(const In& in, const Out& out) {
  with_deviation(in, out, [&](const Number& v) { return v + parameter(in.eps); });
}

inline void normaliser_drift(const In& in, const Out& out, const Number& c) {
  with_deviation(in, out, [&](const Number& v) { return sqrt(v + parameter(in.eps)) / (Number(1) + c); });
}

inline void reciprocal_root(const In& in, const Out& out) {
  with_moments(in, out, [&](const auto&, const Vector& rest, const Number& v) {
    const Number by = 1 / sqrt(v + parameter(in.eps));
    return tabulate(rest.extent(), [&](Index a) { return rest(a) * by; });
  });
}

inline void with_eps(const In& in, const Out& out, double eps) {
  In other = in;
  other.eps = eps;
  right::two_pass(other, out);
}

inline void eps_missing(const In& in, const Out& out) { with_eps(in, out, in.x.extent(1) > 1 ? 0 : in.eps); }

inline void eps_default(const In& in, const Out& out) { with_eps(in, out, 1e-5); }

inline void rms_norm(const In& in, const Out& out) {
  right::each_row(in, out, [&](const Row& x) { return shifted(in, x, Number(0), mean_square(x)); });
}

inline void mean_kept_in_variance(const In& in, const Out& out) {
  with_moments(in, out, [&](const auto& x, const Vector& rest, const Number&) {
    return right::scaled(in, rest, mean_square(x));
  });
}

/// The equation with the moments of f(i, a), entries x(i, a) each.
template <class F>
void normalised_over(const In& in, const Out& out, Index count, F&& entry) {
  const auto [n, d] = in.x.extents();
  Matrix xhat(n, d);
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < xhat.extent(1); ++a) {
      const auto all = tabulate(count, [&](Index t) { return entry(t, a); });
      const Number mu = mean(count, [&](Index t) { return all(t); });
      const Number v = mean(count, [&](Index t) { return Number((all(t) - mu) * (all(t) - mu)); });
      xhat(i, a) = (in.x(i, a) - mu) / sqrt(v + parameter(in.eps));
    }
  Index i = 0;
  right::each_row(in, out, [&](const auto&) {
    const Index row = i++;
    return tabulate(xhat.extent(1), [&](Index a) { return xhat(row, a); });
  });
}

inline void token_axis(const In& in, const Out& out) {
  normalised_over(in, out, in.x.extent(0), [&](Index t, Index a) { return in.x(t, a); });
}

inline void all_together(const In& in, const Out& out) {
  const Index d = in.x.extent(1);
  normalised_over(in, out, in.x.extent(0) * d, [&](Index t, Index) { return in.x(t / d, t % d); });
}

inline void naive_variance(const In& in, const Out& out) {
  right::each_row(in, out, [&](const Row& x) {
    const Number mu = mean(x.extent(0), [&](Index a) { return x(a); });
    return shifted(in, x, mu, mean_square(x) - mu * mu);
  });
}

inline void last_feature_dropped(const In& in, const Out& out) {
  right::each_row(in, out, [&](const Row& x) {
    const Index d = x.extent(0), even = std::max<Index>(d - d % 2, 1);
    const Number mu = mean(even, [&](Index a) { return x(a); });
    return shifted(in, x, mu, mean(even, [&](Index a) { return (x(a) - mu) * (x(a) - mu); }));
  });
}

/// The equation, then out.y(i, a) = f(xhat, a).
template <class F>
void with_gain(const In& in, const Out& out, F&& f) {
  In bare = in;
  bare.gamma = {}, bare.beta = {};
  right::two_pass(bare, out);
  const auto gamma = [&](Index a) { return in.gamma ? in.gamma(a) : Number(1); };
  const auto beta = [&](Index a) { return in.beta ? in.beta(a) : Number(0); };
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(i, a) = f(Number(out.y(i, a)), gamma(a), beta(a));
}

inline void beta_before_gamma(const In& in, const Out& out) {
  with_gain(in, out, [](const Number& xhat, const Number& gamma, const Number& beta) { return gamma * (xhat + beta); });
}

inline void gamma_ignored(const In& in, const Out& out) {
  with_gain(in, out, [](const Number& xhat, const Number&, const Number& beta) { return xhat + beta; });
}

inline void gamma_plus_one(const In& in, const Out& out) {
  with_gain(in, out, [](const Number& xhat, const Number& gamma, const Number& beta) {
    return (Number(1) + gamma) * xhat + beta;
  });
}

inline void beta_ignored(const In& in, const Out& out) {
  with_gain(in, out, [](const Number& xhat, const Number& gamma, const Number&) { return gamma * xhat; });
}

}  // namespace attest::faults::attention::layer_norm
