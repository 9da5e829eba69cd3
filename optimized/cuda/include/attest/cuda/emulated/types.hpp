// SPDX-License-Identifier: MIT
#pragma once

/// Keywords and plain types of CUDA C++.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// The static object only identifies the memory; each block has memory of its own for it (Shared::begin).
#define __shared__ static

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }

inline constexpr int warpSize = 32;

// The variables of the thread that runs. initial-exec: one instruction to reach them, also in a shared library, which
// must then have few bytes of such variables (glibc keeps 1664 for all libraries that are loaded later).
#define ATTEST_CUDA_PER_HOST_THREAD [[gnu::tls_model("initial-exec")]] inline thread_local
ATTEST_CUDA_PER_HOST_THREAD constinit uint3 threadIdx{}, blockIdx{};
ATTEST_CUDA_PER_HOST_THREAD constinit dim3 blockDim{}, gridDim{};
