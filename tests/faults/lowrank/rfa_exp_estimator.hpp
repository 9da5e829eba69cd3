// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/rfa_exp_estimator.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::rfa_exp_estimator {

namespace right = attest::reference::lowrank::rfa_exp_estimator;
using right::In;
using right::Norms;
using right::Out;

/// The equation with another factor: factor(pair) in place of e^((|x|^2 + |y|^2) / (2 sigma^2)).
template <class F>
void with_factor(const In& in, const Out& out, F&& factor) {
  right::each_pair(out, [&](Index i) { return factor(i) * right::product(in, i); });
}

inline Number right_factor(const In& in, Index i) {
  return exp(right::exponent(in, in.x[i]) + right::exponent(in, in.y[i]));
}

/// The equation with another phi(x) . phi(y).
template <class F>
void with_product(const In& in, const Out& out, F&& product) {
  right::each_pair(out, [&](Index i) { return right_factor(in, i) * product(i); });
}

inline void exp_missing(const In& in, const Out& out) {
  with_product(in, out, [&](Index i) {
    const Number sigma = parameter(in.sigma);
    return -sum(in.x.extent(1), [&](Index a) { return (in.x(i, a) - in.y(i, a)) * (in.x(i, a) - in.y(i, a)); }) /
           (2 * (sigma * sigma));
  });
}

inline void norms_missing(const In& in, const Out& out) {
  with_factor(in, out, [](Index) { return Number(1); });
}

inline void norm_of_x_only(const In& in, const Out& out) {
  with_factor(in, out, [&](Index i) { return exp(right::exponent(in, in.x[i])); });
}

inline void sigma_squared_without_half(const In& in, const Out& out) {
  with_factor(in, out, [&](Index i) { return exp(2 * (right::exponent(in, in.x[i]) + right::exponent(in, in.y[i]))); });
}

inline void unit_factor_on_all(In in, const Out& out) {
  in.norms = Norms::unit;
  right::direct(in, out);
}

inline void unit_factor_halved(const In& in, const Out& out) {
  with_factor(in, out, [&](Index i) {
    return in.norms == Norms::unit ? exp(right::exponent(in, in.x[i])) : right_factor(in, i);
  });
}

inline void unit_ignored(In in, const Out& out) {
  in.norms = Norms::computed;
  right::direct(in, out);
}

inline void sigma_not_squared(const In& in, const Out& out) {
  with_factor(in, out, [&](Index i) {
    return exp((right::exponent(in, in.x[i]) + right::exponent(in, in.y[i])) * parameter(in.sigma));
  });
}

inline void variance_sigma_squared(const In& in, const Out& out) {
  In other = in;
  other.sigma = 1 / in.sigma;
  with_product(in, out, [&](Index i) { return right::product(other, i); });
}

inline void sigma_ignored(In in, const Out& out) {
  in.sigma = 1;
  right::direct(in, out);
}

inline void normaliser_missing(const In& in, const Out& out) {
  with_product(in, out, [&](Index i) { return right::product(in, i) * Number(in.w.extent(0)); });
}

inline void cosine_only(const In& in, const Out& out) {
  using reference::lowrank::fourier_features::features;
  with_product(in, out, [&](Index i) {
    const Index c = in.w.extent(0);
    const auto x = features(in.w, in.x[i], in.sigma), y = features(in.w, in.y[i], in.sigma);
    return dot(x.view().rows(c, c), y.view().rows(c, c));
  });
}

inline void norms_subtracted(const In& in, const Out& out) {
  with_factor(in, out, [&](Index i) { return 1 / right_factor(in, i); });
}

inline void clamped(const In& in, const Out& out) {
  with_product(in, out, [&](Index i) {
    const Number product = right::product(in, i);
    return positive(product) ? product : Number(0);
  });
}

inline void last_column_dropped(In in, const Out& out) {
  const Index d = in.x.extent(1) / 2 * 2;
  in.x = in.x.columns(0, d), in.y = in.y.columns(0, d), in.w = in.w.columns(0, d);
  right::direct(in, out);
}

inline void exponent_drift(const In& in, const Out& out, const Number& c) {
  with_factor(in, out, [&](Index i) {
    return exp((right::exponent(in, in.x[i]) + right::exponent(in, in.y[i])) * (Number(1) + c));
  });
}

}  // namespace attest::faults::lowrank::rfa_exp_estimator
