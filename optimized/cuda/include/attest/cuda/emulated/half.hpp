// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "attest/cuda/emulated/types.hpp"

/// __nv_bfloat16 and __half with the conversions of cuda_bf16.h and cuda_fp16.h that kernels need. Conversions between
/// them and float are explicit here, implicit in CUDA: code that compiles here compiles there, and rounds only where it
/// says so.

struct __nv_bfloat16;
struct __half;
__nv_bfloat16 __float2bfloat16_rn(float x);
float __bfloat162float(__nv_bfloat16 x);
__half __float2half_rn(float x);
float __half2float(__half x);

struct __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) : bits(__float2bfloat16_rn(x).bits) {}
  explicit operator float() const { return __bfloat162float(*this); }
};
struct __half {
  std::uint16_t bits;
  __half() = default;
  explicit __half(float x) : bits(__float2half_rn(x).bits) {}
  explicit operator float() const { return __half2float(*this); }
};
// As in CUDA not trivially copyable, hence not what load and store move: that is Vector<__nv_bfloat16, 2>.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 first, __nv_bfloat16 second) : x(first), y(second) {}
  __nv_bfloat162(const __nv_bfloat162& other) : x(other.x), y(other.y) {}
  __nv_bfloat162& operator=(const __nv_bfloat162& other) = default;
};
struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half first, __half second) : x(first), y(second) {}
  __half2(const __half2& other) : x(other.x), y(other.y) {}
  __half2& operator=(const __half2& other) = default;
};

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return std::bit_cast<__nv_bfloat16>(bits); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __half __ushort_as_half(unsigned short bits) { return std::bit_cast<__half>(bits); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }

inline float __bfloat162float(__nv_bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return __ushort_as_bfloat16(0x7fff);  // CUDA's one NaN
  return __ushort_as_bfloat16(static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}
inline __nv_bfloat16 __float2bfloat16(float x) { return __float2bfloat16_rn(x); }

inline float __half2float(__half x) {
  const std::uint32_t sign = std::uint32_t{x.bits} << 16 & 0x80000000u, magnitude = x.bits & 0x7fffu;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | magnitude << 13);
  const float scaled =
      std::bit_cast<float>(magnitude << 13) * 0x1p112f;  // the bias 15 becomes 127; subnormals are scaled exactly
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}
inline __half __float2half_rn(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<unsigned short>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000) return __ushort_as_half(0x7fff);
  if (magnitude >= 0x477ff000)
    return __ushort_as_half(sign | 0x7c00);  // 65520, the middle above 65504, rounds to infinity
  std::uint32_t half;
  if (magnitude < 0x38800000) {  // below 2^-14 a unit of the result is 2^-24, which is the last place of 1/2 as float
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return __ushort_as_half(static_cast<unsigned short>(sign | half));
}
inline __half __float2half(float x) { return __float2half_rn(x); }

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {__bfloat162float(v.x), __bfloat162float(v.y)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline float2 __half22float2(__half2 v) { return {__half2float(v.x), __half2float(v.y)}; }
