// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace attest::openmp::engine {

template <class Real>
struct SineCosine {
  Real sine, cosine;
};

/// Of an angle in radians.
inline SineCosine<double> sine_cosine(double angle) { return {std::sin(angle), std::cos(angle)}; }

/// The C library takes most of its time to bring 80-bit angles beyond pi/4 into that range, by a division for angles of
/// any size. Below 2^31 quarter turns two products do (Cody and Waite): the first part of pi/2 is so short that its
/// product is exact. The sum is off by less than 2^-64, as an angle beyond 1 is by its own rounding.
inline SineCosine<long double> sine_cosine(long double angle) {
  constexpr long double kFirst = 0x1.921fb544p0L, kSecond = 0x4.2d18469898cc517p-36L, kMost = 0x1p31L;
  const long double quarters = std::rint(angle * (2 / std::numbers::pi_v<long double>));
  if (std::numeric_limits<long double>::digits != 64 || !(std::abs(quarters) < kMost))
    return {std::sin(angle), std::cos(angle)};
  const long double rest = (angle - quarters * kFirst) - quarters * kSecond;
  const long double sine = std::sin(rest), cosine = std::cos(rest);
  switch (static_cast<long long>(quarters) & 3) {
    case 0: return {sine, cosine};
    case 1: return {cosine, -sine};
    case 2: return {-sine, -cosine};
    default: return {-cosine, sine};
  }
}

}  // namespace attest::openmp::engine
