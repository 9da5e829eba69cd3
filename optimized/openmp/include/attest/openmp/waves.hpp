// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <type_traits>

#include "attest/openmp/eigen.hpp"

/// Shared by the kernels of sinusoidal and rotary encodings.
namespace attest::openmp::positional {

/// Angles reach 10^6 radians: formed in the kernel's own type they would lose every digit behind the point that
/// matters.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// base^(-m / steps) for m = 0 .. count - 1; steps may be 0 where the first is the only one.
template <class T>
Column<Wide<T>> frequencies(double base, Index count, Wide<T> steps) {
  Column<Wide<T>> w(count);
  for (Index m = 0; m < count; ++m)
    w(m) = m == 0 ? 1 : std::exp2(-static_cast<Wide<T>>(m) / steps * std::log2(static_cast<Wide<T>>(base)));
  return w;
}

}  // namespace attest::openmp::positional
