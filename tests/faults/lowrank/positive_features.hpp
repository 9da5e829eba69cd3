// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/positive_features.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::positive_features {

namespace right = attest::reference::lowrank::positive_features;
using right::In;
using right::Out;

/// The equation with exponents exponent(w . x, x) before the shift, w . x of the opposite sign in a second half.
template <class F>
void with_exponents(const In& in, const Out& out, F&& exponent) {
  right::each_row(in, out, [&](const Row& x) {
    return right::exponentials(tabulate(out.phi.extent(1), [&](Index t) {
      const Index c = in.w.extent(0);
      const Number product = dot(in.w[t % c], x);
      return exponent(t < c ? product : -product, x) - parameter(in.shift);
    }));
  });
}

/// The equation with other features: feature(right ones, column).
template <class F>
void with_features(const In& in, const Out& out, F&& feature) {
  right::each_row(in, out, [&](const Row& x) {
    const Vector phi = right::exponentials(right::shifted(in, x));
    return tabulate(phi.extent(), [&](Index t) { return feature(phi, t); });
  });
}

inline Number half_norm(const Row& x) { return dot(x, x) / 2; }

inline void norm_missing(const In& in, const Out& out) {
  with_exponents(in, out, [](const Number& product, const Row&) { return product; });
}

inline void norm_without_half(const In& in, const Out& out) {
  with_exponents(in, out, [](const Number& product, const Row& x) { return product - dot(x, x); });
}

inline void norm_sign(const In& in, const Out& out) {
  with_exponents(in, out, [](const Number& product, const Row& x) { return product + half_norm(x); });
}

inline void norm_not_squared(const In& in, const Out& out) {
  with_exponents(in, out, [](const Number& product, const Row& x) {
    const Number square = dot(x, x);
    return is_zero(square) ? product : product - sqrt(square) / 2;
  });
}

inline void normaliser_missing(const In& in, const Out& out) {
  with_features(in, out, [](const Vector& phi, Index t) { return phi(t) * sqrt(Number(phi.extent())); });
}

inline void normaliser_not_a_root(const In& in, const Out& out) {
  with_features(in, out, [](const Vector& phi, Index t) { return phi(t) / sqrt(Number(phi.extent())); });
}

inline void unit_rows(In in, const Out& out) {
  const auto w = matrix_of(in.w.extent(0), in.w.extent(1),
                           [&](Index r, Index a) { return in.w(r, a) / sqrt(dot(in.w[r], in.w[r])); });
  in.w = w.view();
  right::direct(in, out);
}

inline void relu_kernel(const In& in, const Out& out) {
  right::each_row(in, out, [&](const Row& x) {
    const Index c = in.w.extent(0);
    return tabulate(out.phi.extent(1), [&](Index t) {
      const Number product = t < c ? dot(in.w[t], x) : -dot(in.w[t - c], x);
      return positive(product) ? product / sqrt(Number(out.phi.extent(1))) : Number(0);
    });
  });
}

inline void exp_product(const In& in, const Out& out) {
  right::each_row(in, out, [&](const Row& x) {
    const Index c = in.w.extent(0);
    const Number root = sqrt(Number(out.phi.extent(1)));
    return tabulate(out.phi.extent(1), [&](Index t) {
      const Number product = t < c ? dot(in.w[t], x) : -dot(in.w[t - c], x);
      return exp(product - parameter(in.shift)) * exp(-half_norm(x)) / root;
    });
  });
}

inline void shift_ignored(In in, const Out& out) {
  in.shift = 0;
  right::direct(in, out);
}

inline void shift_added(In in, const Out& out) {
  in.shift = -in.shift;
  right::direct(in, out);
}

inline void hyperbolic_normaliser(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) { return in.hyperbolic ? phi(t) * sqrt(Number(2)) : phi(t); });
}

inline void hyperbolic_cosh(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) {
    return in.hyperbolic ? (phi(t) + phi((t + phi.extent() / 2) % phi.extent())) / 2 : phi(t);
  });
}

inline void hyperbolic_interleaved(const In& in, const Out& out) {
  with_features(in, out, [&](const Vector& phi, Index t) {
    return in.hyperbolic ? phi(t / 2 + t % 2 * (phi.extent() / 2)) : phi(t);
  });
}

inline void last_column_dropped(In in, const Out& out) {
  const Index d = in.x.extent(1) / 2 * 2;
  in.x = in.x.columns(0, d), in.w = in.w.columns(0, d);
  right::direct(in, out);
}

inline void epsilon_added(const In& in, const Out& out) {
  with_features(in, out,
                [](const Vector& phi, Index t) { return phi(t) + rational(1, 1000) / sqrt(Number(phi.extent())); });
}

inline void exponent_drift(const In& in, const Out& out, const Number& c) {
  with_exponents(in, out,
                 [&](const Number& product, const Row& x) { return (product - half_norm(x)) * (Number(1) + c); });
}

}  // namespace attest::faults::lowrank::positive_features
