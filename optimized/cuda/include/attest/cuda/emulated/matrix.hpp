// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/emulated/block.hpp"

namespace attest::cuda::emulation {

/// One lane's operands of a product, as floats (exact) in the order of its fragments.
struct Operands {
  float a[8], b[4];
  float* c;
};

/// c += a b by the warp, depth 16 for operands of 16 bits and 8 for tf32. `min_exponent` is the operands' smallest.
void multiply_add(Operands& mine, int depth, int min_exponent, Location where);

/// c[i][j] += a_i . b_j for bf16 operands: what multiply_add does once its operands are put together.
void add_bf16_products(const float (&a)[16][16], const float (&b)[8][16], float* const (&c)[16][8]);

}  // namespace attest::cuda::emulation

namespace attest::cuda {

// The tensor core reads the upper 19 bits of a tf32 operand only.
inline float to_float(Tf32 x) { return __uint_as_float(__float_as_uint(x.value) & 0xffffe000u); }

/// c += a b. All lanes of the warp call it, at one place.
template <class T>
void multiply_add(Accumulator& c, const MatrixA<T>& a, const MatrixB<T>& b,
                  emulation::Location where = emulation::Location::current()) {
  emulation::Operands mine{{}, {}, c.values};
  for (int i = 0; i < a.size; ++i) mine.a[i] = to_float(a.values[i]);
  for (int i = 0; i < b.size; ++i) mine.b[i] = to_float(b.values[i]);
  emulation::multiply_add(mine, matrix_depth<T>, std::is_same_v<T, __half> ? -14 : -126, where);
}

}  // namespace attest::cuda
