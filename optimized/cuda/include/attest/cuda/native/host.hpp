// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "attest/cuda/error.hpp"
#include "attest/cuda/swizzle.hpp"

namespace attest::cuda {

using Stream = cudaStream_t;

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw Error(std::string(call) + ": " + cudaGetErrorString(error));
}

/// Uninitialised memory of the device.
template <class T>
T* allocate(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "allocate");
  return static_cast<T*>(memory);
}
template <class T>
void release(T* memory) {
  check(cudaFree(memory), "release");
}

/// Between host and device, in either direction.
template <class T>
void copy(T* to, const T* from, std::size_t count, Stream stream = nullptr) {
  check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, stream), "copy");
}
template <class T>
void clear(T* memory, std::size_t count, Stream stream = nullptr) {
  check(cudaMemsetAsync(memory, 0, count * sizeof(T), stream), "clear");
}

/// The device that allocations and launches of this thread are for.
inline int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "current_device");
  return device;
}
inline void set_device(int device) { check(cudaSetDevice(device), ("set_device " + std::to_string(device)).c_str()); }

/// Of the current device, as 10 * major + minor.
inline int compute_capability() {
  const int device = current_device();
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "compute_capability");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "compute_capability");
  return 10 * major + minor;
}
/// Bytes that a block may have on the current device, static and dynamic.
inline std::size_t shared_memory_limit() {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device()),
        "shared_memory_limit");
  return static_cast<std::size_t>(bytes);
}

inline Stream create_stream() {
  Stream stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create_stream");
  return stream;
}
inline void destroy(Stream stream) { check(cudaStreamDestroy(stream), "destroy"); }
inline void synchronize(Stream stream) { check(cudaStreamSynchronize(stream), "synchronize"); }

/// kernel<<<grid, block, shared_bytes, stream>>>(arguments...), with the error thrown.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
            Arguments&&... arguments) {
  if (shared_bytes > 0) {
    const void* function = reinterpret_cast<const void*>(kernel);
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, function), "launch: shared memory");
    // A block has 48 KiB, static, as padded in front of dynamic memory, and dynamic; more must be requested.
    const std::size_t padded =
        (attributes.sharedSizeBytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
    if (padded + shared_bytes > 48 * 1024)
      check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
            "launch: shared memory");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(std::forward<Arguments>(arguments))...), "launch");
}

}  // namespace attest::cuda
