// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/rows.hpp"
#include "attest/openmp/engine/sine_cosine.hpp"

/// Shared by the kernels of sinusoidal and rotary encodings.
namespace attest::openmp::positional {

using engine::Wide;

/// base^(-m / steps) for m = 0 .. count - 1; steps may be 0 where the first is the only one.
template <class T>
Column<Wide<T>> frequencies(double base, Index count, Wide<T> steps) {
  Column<Wide<T>> w(count);
  for (Index m = 0; m < count; ++m)
    w(m) = m == 0 ? 1 : std::exp2(-static_cast<Wide<T>>(m) / steps * std::log2(static_cast<Wide<T>>(base)));
  return w;
}

}  // namespace attest::openmp::positional
