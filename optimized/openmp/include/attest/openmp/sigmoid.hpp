// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace attest::openmp {

/// 1 / (1 + e^-x), from the exponential that cannot overflow.
template <class T>
T sigmoid(T x) {
  const T e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

}  // namespace attest::openmp
