// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace attest::cuda {

/// The lane in its warp, and the warp in its block: threads are counted along x first.
__device__ __forceinline__ int lane() {
  int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ __forceinline__ int warp() {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return static_cast<int>(thread / 32);  // warpSize is no constant
}

/// 2^x to 2 ulp; 0 where that is below the normal numbers.
__device__ __forceinline__ float exp2_flushed(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x to 1 ulp; denormals, of x and of the result, are 0.
__device__ __forceinline__ float reciprocal_flushed(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// To nearest, ties away from zero.
__device__ __forceinline__ float round_to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

namespace detail {

/// A struct of 4 or 8 bytes, which CUDA's shuffles do not know.
template <class T>
concept ShuffledStruct = std::is_class_v<T> && std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
using ShuffledWord = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;

}  // namespace detail
}  // namespace attest::cuda

#define ATTEST_CUDA_SHUFFLE(name, Second)                                                                \
  template <attest::cuda::detail::ShuffledStruct T>                                                      \
  __device__ __forceinline__ T name(unsigned mask, T value, Second second, int width = warpSize) {       \
    return __builtin_bit_cast(                                                                           \
        T, name(mask, __builtin_bit_cast(attest::cuda::detail::ShuffledWord<T>, value), second, width)); \
  }
ATTEST_CUDA_SHUFFLE(__shfl_sync, int)
ATTEST_CUDA_SHUFFLE(__shfl_up_sync, unsigned)
ATTEST_CUDA_SHUFFLE(__shfl_down_sync, unsigned)
ATTEST_CUDA_SHUFFLE(__shfl_xor_sync, int)
#undef ATTEST_CUDA_SHUFFLE
