// SPDX-License-Identifier: MIT
#pragma once

#include <math.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// The functions of CUDA's math library that the host's <math.h> lacks; the others (expf, exp2f, logf, tanhf, erff,
/// fmaf ...) are the host's own, whose errors lie within the ulps that CUDA states. emulation/README.md lists them.

inline int max(int a, int b) { return std::max(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }
inline long long max(long long a, long long b) { return std::max(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline int min(int a, int b) { return std::min(a, b); }
inline unsigned min(unsigned a, unsigned b) { return std::min(a, b); }
inline long long min(long long a, long long b) { return std::min(a, b); }
inline float min(float a, float b) { return fminf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }

inline float rsqrtf(float x) noexcept { return static_cast<float>(1 / std::sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) noexcept { return 1 / std::sqrt(x); }

// Rounded to nearest once, and never contracted.
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

// The fast ones go the way of the hardware: base 2, with the argument or the result rounded to float on the way.
inline float __expf(float x) noexcept { return exp2f(x * 1.4426950408889634f); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __logf(float x) noexcept { return log2f(x) * 0.6931471805599453f; }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __powf(float x, float y) noexcept { return exp2f(y * log2f(x)); }
inline float __fdividef(float a, float b) {
  return std::fabs(b) > 0x1p126f && std::fabs(b) < 0x1p128 ? a * 0.0f : a * (1 / b);
}
inline float __saturatef(float x) { return x != x ? 0.0f : std::clamp(x, 0.0f, 1.0f); }

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

namespace attest::cuda {

/// 2^x; 0 where that is below the normal numbers: ex2.approx.ftz.f32.
inline float exp2_flushed(float x) { return x < -126 ? 0.0f : exp2f(x); }

/// 1 / x; denormals, of x and of the result, are 0: rcp.approx.ftz.f32.
inline float reciprocal_flushed(float x) {
  const float y = 1 / x;
  return std::fpclassify(x) == FP_SUBNORMAL   ? std::copysign(INFINITY, x)
         : std::fpclassify(y) == FP_SUBNORMAL ? std::copysign(0.0f, x)
                                              : y;
}

/// To nearest, ties away from zero: cvt.rna.tf32.f32. NaN and infinity stay what they are.
inline float round_to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::isfinite(x) ? std::bit_cast<float>((bits + 0x1000) & 0xffffe000u) : x;
}

}  // namespace attest::cuda
