// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/linear/polynomial_feature_map.hpp"

namespace attest::reference::linear::polynomial_feature_map {

using In = attest::spec::linear::polynomial_feature_map::In<Number>;
using Out = attest::spec::linear::polynomial_feature_map::Out<Number>;
using attest::spec::linear::polynomial_feature_map::Layout;

/// The features of every row: `square(x_a)`, `cross(x_a, x_b)` and, with a constant, `linear(x_a)` and `constant`
/// itself.
template <class S, class X, class L>
void each_feature(const In& in, const Out& out, S&& square, X&& cross, L&& linear, const Number& constant) {
  const Index d = in.x.extent(1), with = in.constant > 0 ? 1 : 0;  // C1
  for (const Index i : wanted(out.phi)) {
    const auto x = in.x[i];
    const auto phi = out.phi[i];
    Index at = 0;
    if (in.layout == Layout::full) {  // C2, C3
      for (Index a = 0; a < d + with; ++a)
        for (Index b = 0; b < d + with; ++b)
          phi(at++) = a == d && b == d ? constant
                      : a == d         ? linear(x(b))
                      : b == d         ? linear(x(a))
                      : a == b         ? square(x(a))
                                       : cross(x(a), x(b));
      continue;
    }
    for (Index a = 0; a < d; ++a) phi(at++) = square(x(a));  // C4, C5
    for (Index a = 0; a < d; ++a)
      for (Index b = a + 1; b < d; ++b) phi(at++) = cross(x(a), x(b));
    if (with == 0) continue;
    for (Index a = 0; a < d; ++a) phi(at++) = linear(x(a));
    phi(at) = constant;
  }
}

/// The weight of x_a x_b, a != b: once for all pairs, sqrt 2 where a pair stands for itself and its mirror image.
inline Number product(const In& in, const Number& x, const Number& y) {
  return in.layout == Layout::full ? x * y : stage("square roots", sqrt(Number(2))) * stage("products", x * y);
}

/// full: x_a x_b, sqrt c x_a, c;  symmetric: x_a^2, sqrt 2 x_a x_b, sqrt(2 c) x_a, c      [c is the constant]
inline void direct(const In& in, const Out& out) {
  const double squared = in.layout == Layout::full ? in.constant : 2 * in.constant;
  const Number weight = stage("square roots", sqrt(parameter(squared)));
  each_feature(
      in, out, [](const Number& x) { return x * x; },
      [&](const Number& x, const Number& y) { return product(in, x, y); }, [&](const Number& x) { return weight * x; },
      parameter(in.constant));
}

/// y = [x, sqrt c]: (x . y + c)^2 is the square of a plain dot product of such vectors, and c no case of its own.
inline void homogenised(const In& in, const Out& out) {
  const Number last = stage("square roots", sqrt(parameter(in.constant)));
  each_feature(
      in, out, [](const Number& x) { return x * x; },
      [&](const Number& x, const Number& y) { return product(in, x, y); },
      [&](const Number& x) { return product(in, x, last); }, last * last);
}

}  // namespace attest::reference::linear::polynomial_feature_map
