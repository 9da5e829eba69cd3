// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/lowrank/positive_features.hpp"

namespace attest::reference::lowrank::positive_features {

using In = attest::spec::lowrank::positive_features::In<Number>;
using Out = attest::spec::lowrank::positive_features::Out<Number>;

/// w_r . x - |x|^2 / 2 for every direction, and behind them -w_r . x - |x|^2 / 2 where directions have two features.
inline Vector exponents(const View<const Number, 2>& w, const Row& x, bool hyperbolic) {
  const Index c = w.extent(0);
  const auto products = stage("products", product(w, x));
  const Number half_norm = stage("half norms", dot(x, x) / 2);
  return tabulate(hyperbolic ? 2 * c : c,
                  [&](Index t) { return (t < c ? products(t) : -products(t - c)) - half_norm; });
}

/// What the exponents of a row become.
inline Vector shifted(const In& in, const Row& x) {
  const Vector e = exponents(in.w, x, in.hyperbolic);
  if (in.shift == 0) return stage("exponent", e);
  return stage("exponent", tabulate(e.extent(), [&](Index t) { return e(t) - parameter(in.shift); }));
}

/// e^t / sqrt(p) for the exponents of a row.
inline Vector exponentials(const Vector& exponent) {
  const Number root = sqrt(Number(exponent.extent()));
  return tabulate(exponent.extent(), [&](Index t) { return stage("exponentials", exp(exponent(t))) / root; });
}

/// Row by row of x.
template <class F>
void each_row(const In& in, const Out& out, F&& features) {
  for (const Index i : wanted(out.phi)) assign(out.phi[i], features(in.x[i]));  // C1
}

/// phi_r(x) = e^(w_r . x - |x|^2 / 2) / sqrt(c)      [Choromanski et al. 2021, lemma 1]
inline void direct(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) { return exponentials(shifted(in, x)); });
}

/// e^(w_r . x - |x|^2 / 2 - ln(p) / 2)
inline void log_domain(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) {
    const Vector exponent = shifted(in, x);
    const Number log_root = log(Number(exponent.extent())) / 2;
    return tabulate(exponent.extent(), [&](Index t) { return exp(exponent(t) - log_root); });
  });
}

}  // namespace attest::reference::lowrank::positive_features
