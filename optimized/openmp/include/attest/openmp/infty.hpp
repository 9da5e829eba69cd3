// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/rows.hpp"
#include "attest/openmp/sigmoid.hpp"
#include "attest/openmp/tiles.hpp"

/// What equations over a basis of Gaussians share.
namespace attest::openmp::infty {

/// 1 / sqrt(2 pi)
template <class T>
constexpr T kInverseRootOfTwoPi = static_cast<T>(0.3989422804014327);

/// Centre k of b, w to a centre: given, or equidistant from 0 to 1.
template <class T>
T centre(View<const T, 1> given, Index k, Index b, Index w) {
  if (given) return given(k);
  return b == w ? T(0) : static_cast<T>(k / w) / static_cast<T>(b / w - 1);
}

template <class T>
T width(View<const T, 1> s, Index k) {
  return s(k % s.extent(0));
}

/// ln(1 + e^x)
template <class T>
T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <class T>
struct BasisFunction {
  T centre, width;
};

/// The share of N(m, v) that lies in [0, 1].
template <class T>
T share_inside(T m, T v) {
  if (v == 0) return m < 0 || m > 1 ? T(0) : T(1);
  const T unit = std::sqrt(2 * v);
  return (std::erfc((m - 1) / unit) - std::erfc(m / unit)) / 2;
}

/// r_k = E[psi_k(t)], t ~ N(mu, sigma2), over [0, 1] or all numbers: exponents, then a pass of exponentials, then
/// factors.
template <class T, class F>
void expectations(T mu, T sigma2, F&& function, bool inside, bool normalised, View<T, 1> r) {
  const Index b = r.extent(0);
  Column<T> row(b);
  for (Index k = 0; k < b; ++k) {
    const auto [c, s] = function(k);
    row(k) = -(mu - c) * (mu - c) / (2 * (sigma2 + s * s));
  }
  engine::map(engine::Feature::exp, row.data(), b);
  for (Index k = 0; k < b; ++k) {
    const auto [c, s] = function(k);
    const T sum = sigma2 + s * s, deviation = std::sqrt(sum);
    row(k) *= normalised ? kInverseRootOfTwoPi<T> / deviation : s / deviation;
    if (inside) row(k) *= share_inside((mu * s * s + c * sigma2) / sum, sigma2 * s * s / sum);
  }
  vector(r) = row;
}

}  // namespace attest::openmp::infty
