// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

/// One build for every x86-64 processor: a unit is compiled for SSE4, AVX2 and AVX-512 by Highway's foreach_target.h,
/// and the widest that the processor has is chosen when the plugin is loaded. Highway's own dispatch would need its
/// library at run time; this needs its headers alone. Elsewhere a unit is compiled once, for the compiler's target.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
#include <hwy/detect_targets.h>

namespace attest::openmp::simd {

/// Bits of a vector: 512 (AVX-512), 256 (AVX2), 128 (SSE4, or what another processor has). The variable ATTEST_SIMD
/// (sse4, avx2, avx512) asks for less than the processor has.
inline int vector_bits() {
  static const int chosen = [] {
    int most = 128;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2")) throw std::runtime_error("this build needs a processor with SSE4.2");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) most = 256;
    if (most == 256 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      most = 512;
#endif
    const char* name = std::getenv("ATTEST_SIMD");
    if (!name) return most;
    const std::string_view asked(name);
    const int bits = asked == "sse4" ? 128 : asked == "avx2" ? 256 : asked == "avx512" ? 512 : 0;
    if (bits == 0) throw std::runtime_error("ATTEST_SIMD is sse4, avx2 or avx512, not " + std::string(asked));
    if (bits > most) throw std::runtime_error("ATTEST_SIMD asks for what this processor lacks: " + std::string(asked));
    return bits;
  }();
  return chosen;
}

}  // namespace attest::openmp::simd

/// The value of `name` in the namespace of the chosen target; `scope` is the namespace around it. To be used behind
/// `#if HWY_ONCE`.
#if defined(__x86_64__)
#define ATTEST_CHOSEN(scope, name)                                      \
  (::attest::openmp::simd::vector_bits() == 512   ? scope::N_AVX3::name \
   : ::attest::openmp::simd::vector_bits() == 256 ? scope::N_AVX2::name \
                                                  : scope::N_SSE4::name)
#else
#define ATTEST_CHOSEN(scope, name) scope::HWY_NAMESPACE::name
#endif
