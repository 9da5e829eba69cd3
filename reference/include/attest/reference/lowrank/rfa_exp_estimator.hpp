// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/fourier_features.hpp"
#include "attest/spec/lowrank/rfa_exp_estimator.hpp"

namespace attest::reference::lowrank::rfa_exp_estimator {

using In = attest::spec::lowrank::rfa_exp_estimator::In<Number>;
using Out = attest::spec::lowrank::rfa_exp_estimator::Out<Number>;
using attest::spec::lowrank::rfa_exp_estimator::Norms;

/// |x|^2 / (2 sigma^2), or 1 / (2 sigma^2) for unit vectors
inline Number exponent(const In& in, const Row& x) {
  const Number square = in.norms == Norms::unit ? Number(1) : dot(x, x), sigma = parameter(in.sigma);
  return stage("exponent", square / (2 * (sigma * sigma)));  // C1
}

/// phi(x_i) . phi(y_i)
inline Number product(const In& in, Index i) {
  const auto x = stage("features", fourier_features::features(in.w, in.x[i], in.sigma)),
             y = stage("features", fourier_features::features(in.w, in.y[i], in.sigma));
  return stage("products", dot(x, y));
}

template <class F>
void each_pair(const Out& out, F&& estimate) {
  for (const Index i : wanted(out.est)) out.est(i) = estimate(i);
}

/// e^(|x|^2 / (2 sigma^2)) e^(|y|^2 / (2 sigma^2)) phi(x) . phi(y)      [Peng et al. 2021, eq. 4]
inline void direct(const In& in, const Out& out) {
  each_pair(out, [&](Index i) {
    const Number of_x = stage("exponentials", exp(exponent(in, in.x[i]))),
                 of_y = stage("exponentials", exp(exponent(in, in.y[i])));
    return of_x * of_y * product(in, i);
  });
}

/// e^((|x|^2 + |y|^2) / (2 sigma^2)) phi(x) . phi(y)
inline void log_norms(const In& in, const Out& out) {
  each_pair(out, [&](Index i) {
    const Number both = stage("exponent", exponent(in, in.x[i]) + exponent(in, in.y[i]));
    return stage("exponentials", exp(both)) * product(in, i);
  });
}

/// e^(1 / sigma^2) phi(x) . phi(y)
inline void unit(const In& in, const Out& out) {
  const Number sigma = parameter(in.sigma), factor = stage("exponentials", exp(1 / (sigma * sigma)));
  each_pair(out, [&](Index i) { return factor * product(in, i); });
}

}  // namespace attest::reference::lowrank::rfa_exp_estimator
