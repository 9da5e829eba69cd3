// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/sinusoidal.hpp"
#include "attest/spec/lowrank/fourier_features.hpp"

namespace attest::reference::lowrank::fourier_features {

using In = attest::spec::lowrank::fourier_features::In<Number>;
using Out = attest::spec::lowrank::fourier_features::Out<Number>;
using positional::sinusoidal::Wave;
using positional::sinusoidal::wave;

/// The features of a row: (sines, cosines) / sqrt(c), `of(r)` being the sine and the cosine of direction r.
template <class F>
Vector row_of(Index c, F&& of) {
  const Number root = sqrt(Number(c));
  Vector phi(2 * c);
  for (Index r = 0; r < c; ++r) {
    const Wave w = of(r);
    phi(r) = w.sine / root;
    phi(c + r) = w.cosine / root;
  }
  return phi;
}

/// sin and cos of w . x / sigma for every direction      [Rahimi and Recht 2007]
inline Vector features(const View<const Number, 2>& w, const Row& x, double sigma) {
  return row_of(w.extent(0), [&](Index r) {
    const Number product = dot(w[r], x);
    return wave(sigma == 1 ? product : product / parameter(sigma));  // C2
  });
}

/// Row by row of x.
template <class F>
void each_row(const In& in, const Out& out, F&& features) {
  for (const Index i : wanted(out.phi)) assign(out.phi[i], features(in.x[i]));
}

inline void direct(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) { return features(in.w, x, in.sigma); });
}

/// e^(i w . x / sigma) = prod_a e^(i w_a x_a / sigma)
inline void complex(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) {
    return row_of(in.w.extent(0), [&](Index r) {
      Wave turned{Number(0), Number(1)};
      for (Index a = 0; a < x.extent(0); ++a) {
        const Wave w = wave(in.w(r, a) * x(a) / parameter(in.sigma));
        turned = {turned.sine * w.cosine + turned.cosine * w.sine, turned.cosine * w.cosine - turned.sine * w.sine};
      }
      return turned;
    });
  });
}

/// Standard normal directions on x / sigma.
inline void scaled_input(const In& in, const Out& out) {
  each_row(in, out, [&](const Row& x) {
    const auto scaled =
        stage("scaled inputs", tabulate(x.extent(0), [&](Index a) { return x(a) / parameter(in.sigma); }));
    return features(in.w, scaled, 1);
  });
}

}  // namespace attest::reference::lowrank::fourier_features
