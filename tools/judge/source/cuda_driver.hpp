// SPDX-License-Identifier: MIT
// The CUDA driver, as far as a worker needs it to place tensors on a device. It is found when the program runs: attest
// is built without CUDA. Private to the judge.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace attest::judge {

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device 0 with the primary context, which the runtime API of a plugin shares, and one stream. All work is put on that
/// stream and waited for: what a kernel puts on another one is not.
class CudaDriver {
public:
  /// Throws CudaError where there is no driver or no device. ATTEST_CUDA_DRIVER is the path of another driver.
  CudaDriver() {
    const char* other = std::getenv("ATTEST_CUDA_DRIVER");
    const char* name = other ? other : "libcuda.so.1";
    library_ = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!library_) throw CudaError(std::string(name) + " cannot be loaded (" + ::dlerror() + ")");
    call<unsigned>("cuInit", 0);
    int device = 0;
    call<int*, int>("cuDeviceGet", &device, 0);
    call<void**, int>("cuDevicePrimaryCtxRetain", &context_, device);
    begin();
    constexpr unsigned non_blocking = 1;
    call<void**, unsigned>("cuStreamCreate", &stream_, non_blocking);
  }

  void* stream() const { return stream_; }

  /// Makes the context current, whatever a plugin has made current.
  void begin() const { call<void*>("cuCtxSetCurrent", context_); }

  std::uint64_t allocate(std::size_t size) const {
    std::uint64_t address = 0;
    call<std::uint64_t*, std::size_t>("cuMemAlloc_v2", &address, size);
    return address;
  }
  void free(std::uint64_t address) const { call<std::uint64_t>("cuMemFree_v2", address); }

  void upload(std::uint64_t to, const void* from, std::size_t size) const {
    call<std::uint64_t, const void*, std::size_t, void*>("cuMemcpyHtoDAsync_v2", to, from, size, stream_);
    wait();
  }
  void download(void* to, std::uint64_t from, std::size_t size) const {
    call<void*, std::uint64_t, std::size_t, void*>("cuMemcpyDtoHAsync_v2", to, from, size, stream_);
    wait();
  }
  void wait() const { call<void*>("cuStreamSynchronize", stream_); }

private:
  template <class... Arguments>
  auto find(const char* name) const {
    void* symbol = ::dlsym(library_, name);
    if (!symbol) throw CudaError(std::string("the CUDA driver has no ") + name);
    return reinterpret_cast<int (*)(Arguments...)>(symbol);
  }

  template <class... Arguments>
  void call(const char* name, std::type_identity_t<Arguments>... arguments) const {
    const int code = find<Arguments...>(name)(arguments...);
    if (code == 0) return;
    const char *error = nullptr, *words = nullptr;
    find<int, const char**>("cuGetErrorName")(code, &error);
    find<int, const char**>("cuGetErrorString")(code, &words);
    throw CudaError(std::string(name) + ": " + (error ? error : "error " + std::to_string(code)) +
                    (words ? std::string(", ") + words : ""));
  }

  void* library_ = nullptr;
  void* context_ = nullptr;
  void* stream_ = nullptr;
};

}  // namespace attest::judge
