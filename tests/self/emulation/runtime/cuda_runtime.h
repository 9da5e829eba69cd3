/* SPDX-License-Identifier: MIT
 * In place of CUDA's header: what attest/cuda/native/host.hpp calls of the runtime, for one kernel and devices that all
 * are alike. A launch is refused as CUDA refuses it, where a block has more than 48 KiB that were not asked for. */
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#define __host__
#define __device__

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned along_x = 1, unsigned along_y = 1, unsigned along_z = 1) : x(along_x), y(along_y), z(along_z) {}
};

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidDevice };
enum cudaMemcpyKind { cudaMemcpyDefault };
enum cudaDeviceAttr {
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaStreamNonBlocking = 1 };
using cudaStream_t = struct StreamOfTheRuntime*;
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
};

struct Runtime {
  int devices = 2, device = 0;
  std::size_t static_bytes = 0, limit = 99 * 1024;  // of the kernel; of a block that asks
  std::size_t asked_for = 0;                        // dynamic bytes; 0: not
  int launches = 0;
};
inline Runtime runtime;

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidDevice ? "invalid device ordinal" : "invalid argument";
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = runtime.device;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= runtime.devices) return cudaErrorInvalidDevice;
  runtime.device = device;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 8
           : attribute == cudaDevAttrComputeCapabilityMinor ? 6
                                                            : static_cast<int>(runtime.limit);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->sharedSizeBytes = runtime.static_bytes;
  return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int value) {
  runtime.asked_for = static_cast<std::size_t>(value);
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Parameters... arguments) {
  // Dynamic memory begins at a multiple of 1 KiB behind the static one.
  const std::size_t dynamic = config->dynamicSmemBytes,
                    both = dynamic == 0 ? runtime.static_bytes : (runtime.static_bytes + 1023) / 1024 * 1024 + dynamic;
  if (both > runtime.limit || (both > 48 * 1024 && runtime.asked_for < dynamic)) return cudaErrorInvalidValue;
  ++runtime.launches;
  kernel(arguments...);
  return cudaSuccess;
}
