// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

namespace attest::cuda {

namespace detail {

template <int Words>
struct Registers {
  unsigned word[Words];
};

}  // namespace detail

// One instruction for each type of operand.
#define ATTEST_CUDA_MMA(shape, type)                                                                             \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                                           \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                      \
               : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])                      \
               : "r"(left.word[0]), "r"(left.word[1]), "r"(left.word[2]), "r"(left.word[3]), "r"(right.word[0]), \
                 "r"(right.word[1]))

/// c += a b. All lanes of the warp call it, at one place.
template <class T>
__device__ __forceinline__ void multiply_add(Accumulator& c, const MatrixA<T>& a, const MatrixB<T>& b) {
  const auto left = __builtin_bit_cast(detail::Registers<4>, a);
  const auto right = __builtin_bit_cast(detail::Registers<2>, b);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    ATTEST_CUDA_MMA("m16n8k16", "bf16");
  } else if constexpr (std::is_same_v<T, __half>) {
    ATTEST_CUDA_MMA("m16n8k16", "f16");
  } else {
    static_assert(std::is_same_v<T, Tf32>);
    ATTEST_CUDA_MMA("m16n8k8", "tf32");
  }
}
#undef ATTEST_CUDA_MMA

}  // namespace attest::cuda
