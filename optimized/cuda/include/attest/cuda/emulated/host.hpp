// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "attest/cuda/emulated/block.hpp"

namespace attest::cuda {

/// Streams exist in name: everything is done when the call returns.
using Stream = struct StreamOfTheEmulation*;

namespace emulation {

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes;
};
void run(const Launch& launch, void (*body)(const void*), const void* argument);

inline thread_local int current_device = 0;

}  // namespace emulation

/// Uninitialised memory of the device; here ordinary memory full of 0xff, which are NaNs.
template <class T>
T* allocate(std::size_t count) {
  void* memory = std::aligned_alloc(256, (count * sizeof(T) + 255) / 256 * 256);
  if (memory == nullptr && count != 0)
    throw Error("allocate: no memory for " + std::to_string(count * sizeof(T)) + " bytes");
  std::memset(memory, 0xff, count * sizeof(T));
  return static_cast<T*>(memory);
}
template <class T>
void release(T* memory) {
  std::free(memory);
}

/// Between host and device, in either direction.
template <class T>
void copy(T* to, const T* from, std::size_t count, Stream = nullptr) {
  std::memcpy(to, from, count * sizeof(T));
}
template <class T>
void clear(T* memory, std::size_t count, Stream = nullptr) {
  std::memset(memory, 0, count * sizeof(T));
}

/// The device that allocations and launches of this thread are for; all are alike.
inline int current_device() { return emulation::current_device; }
inline void set_device(int device) {
  if (const int count = emulation::settings().devices; device < 0 || device >= count)
    throw Error("set_device " + std::to_string(device) + ": there are " + std::to_string(count));
  emulation::current_device = device;
}

/// Of the device that is emulated, as 10 * major + minor.
inline int compute_capability() { return emulation::settings().capability; }
/// Bytes that a block may have, static and dynamic.
inline std::size_t shared_memory_limit() { return emulation::device().shared_limit; }

inline Stream create_stream() { return nullptr; }
inline void destroy(Stream) {}
inline void synchronize(Stream) {}

/// kernel<<<grid, block, shared_bytes, stream>>>(arguments...), with the error thrown.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream,
            Arguments&&... arguments) {
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> arguments;
  };
  const Call call{kernel, {std::forward<Arguments>(arguments)...}};
  emulation::run(
      {grid, block, shared_bytes},
      [](const void* c) { std::apply(static_cast<const Call*>(c)->kernel, static_cast<const Call*>(c)->arguments); },
      &call);
}

}  // namespace attest::cuda
