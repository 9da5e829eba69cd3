// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/objective/density_kl.hpp"

namespace attest::reference::objective::density_kl {

using In = attest::spec::objective::density_kl::In<Number>;
using Out = attest::spec::objective::density_kl::Out<Number>;

/// sigma_0^2
inline Number prior(const In& in) { return parameter(in.sigma_0) * parameter(in.sigma_0); }

/// sum_i f(v_i)
template <class F>
void total(const In& in, const Out& out, F&& f) {
  out.divergence() = sum(in.variance.extent(0), [&](Index i) { return f(in.variance(i)); });
}

/// (rho - ln rho - 1) / 2
inline Number of_ratio(const Number& rho) { return (rho - log(rho) - 1) / 2; }

/// D = sum_i (rho_i - ln rho_i - 1) / 2,  rho_i = v_i / sigma_0^2
inline void closed(const In& in, const Out& out) {
  const Number v_0 = prior(in);
  total(in, out, [&](const Number& v) { return of_ratio(stage("ratio", v / v_0)); });
}

/// (x - ln(1 + x)) / 2,  x = rho - 1
inline void log1p(const In& in, const Out& out) {
  const Number v_0 = prior(in);
  total(in, out, [&](const Number& v) {
    const Number x = stage("ratio less 1", v / v_0 - 1);
    return (x - log(1 + x)) / 2;
  });
}

/// ln N(t; 1, v)
inline Number log_density(const Number& t, const Number& v) {
  return -((t - 1) * (t - 1)) / (2 * v) - log(2 * pi() * v) / 2;
}

/// sum_k w_k (ln N(t_k; 1, v) - ln N(t_k; 1, sigma_0^2)),  t_k = 1, 1 +- sqrt(3 v),  w_k = 2/3, 1/6, 1/6
inline void quadrature(const In& in, const Out& out) {
  const Number v_0 = prior(in);
  total(in, out, [&](const Number& v) {
    const auto difference = [&](const Number& t) {
      return stage("difference", log_density(t, v) - log_density(t, v_0));
    };
    const Number step = sqrt(3 * v);
    return rational(2, 3) * difference(1) + rational(1, 6) * (difference(1 + step) + difference(1 - step));
  });
}

}  // namespace attest::reference::objective::density_kl
