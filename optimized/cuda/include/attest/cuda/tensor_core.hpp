// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// The sums of the tensor cores, bit by bit (emulation/README.md, "Matrix products"). Includes nothing of CUDA: a
/// program for a GPU may compare with them, too.

namespace attest::cuda::emulation {

enum class TensorCore { sm_80, sm_90 };

/// One element of the result: the sum that a tensor core makes of `depth` products and the accumulator c.
/// `min_exponent` is the operands' smallest: -14 of f16, -126 of bf16 and tf32.
float tensor_core_sum(const float* a, const float* b, int depth, int min_exponent, float c, TensorCore core);

/// significand * 2^(exponent - 23). Below the smallest exponent the significand is shorter; zero's exponent is below
/// all.
struct TensorCoreNumber {
  std::int64_t significand;
  int exponent;
};
TensorCoreNumber split(float x, int min_exponent);

/// The sum of operands that are split; all numbers are finite.
float tensor_core_sum(const TensorCoreNumber* a, const TensorCoreNumber* b, int depth, float c, TensorCore core);
/// The sum where an operand or c is no finite number: infinities and NaN go the way of real arithmetic; NaN has one
/// pattern.
float special_sum(const float* a, const float* b, int depth, float c);

}  // namespace attest::cuda::emulation
