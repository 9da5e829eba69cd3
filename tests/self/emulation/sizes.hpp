// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attest/attest_kernel.h"
#include "cuda_driver.hpp"

/// Calls of the emulated CUDA plugin's kernels, on tensors with the strides and alignment that a test chooses.
/// ATTEST_CUDA_PLUGIN names another plugin; tensors of kernels for a GPU are copied to its memory and back.

namespace attest::sizes {

using Index = std::int64_t;

inline const attest_plugin& plugin() {
  static const attest_plugin& loaded = []() -> const attest_plugin& {
    const char* path = std::getenv("ATTEST_CUDA_PLUGIN");
    void* library = dlopen(path ? path : ATTEST_CUDA_EMULATED, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return *reinterpret_cast<attest_plugin_function>(dlsym(library, "attest_plugin_v1"))();
  }();
  return loaded;
}

/// gamma_n of Higham: n roundings of unit u one after the other.
inline double gamma(double n, double u) { return n * u / (1 - n * u); }

inline constexpr double kUnit = 0x1p-24;

struct Format {
  const char* name;
  DLDataType dtype;
  double storage;  // unit of rounding of stored outputs and of operands
  double sum;      // error of one addition, relative to the sum of magnitudes, in units of float
};
// bfloat16: a step is an instruction: 17 terms cut at 2^-25 of the largest, the sum at 2^-23.
inline const Format kFormats[] = {{"f32", {kDLFloat, 32, 1}, 0, 1}, {"bf16", {kDLBfloat, 16, 1}, 0x1p-8, 17.0 / 2 + 2}};

struct Layout {
  Index padding = 0, column = 1, misaligned = 0;  // elements after a row, from column to column, before the first
};

struct Tensor {
  std::string name;
  std::vector<Index> shape, strides;
  DLDataType dtype{};
  Index begin = 0;
  std::shared_ptr<std::vector<std::byte>> bytes;

  Tensor(std::string called, std::vector<Index> extents, DLDataType type, Layout layout = {})
      : name(std::move(called)), shape(std::move(extents)), dtype(type) {
    const Index align = 64 / width();
    strides.assign(shape.size(), layout.column);
    for (std::size_t axis = shape.size() - 1; axis-- > 0;)
      strides[axis] = strides[axis + 1] * shape[axis + 1] + (axis + 2 == shape.size() ? layout.padding : 0);
    bytes = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>((strides[0] * shape[0] + layout.misaligned + 2 * align) * width()), std::byte{0xff});
    const auto address = std::bit_cast<std::uintptr_t>(bytes->data());
    begin = static_cast<Index>((64 - address % 64) % 64) / width() + layout.misaligned;
  }
  Index width() const { return dtype.bits / 8; }
  std::byte* data() const { return bytes->data() + begin * width(); }
  std::byte* at(std::initializer_list<Index> index) const {
    Index offset = 0;
    for (std::size_t axis = 0; const Index i : index) offset += i * strides[axis++];
    return data() + offset * width();
  }
  void set(std::initializer_list<Index> index, double x) const {
    const float value = static_cast<float>(x);
    if (dtype.bits == 32)
      std::memcpy(at(index), &value, 4);
    else
      std::memcpy(at(index), reinterpret_cast<const char*>(&value) + 2, 2);  // drawn values are exact in bfloat16
  }
  double get(std::initializer_list<Index> index) const {
    float value = 0;
    if (dtype.bits == 32)
      std::memcpy(&value, at(index), 4);
    else
      std::memcpy(reinterpret_cast<char*>(&value) + 2, at(index), 2);
    return value;
  }
  attest_tensor described(void* data, DLDeviceType device) {
    return {name.c_str(), {data, {device, 0}, static_cast<int>(shape.size()), dtype, shape.data(), strides.data(), 0}};
  }
};
using Tensors = std::map<std::string, Tensor>;

/// Every element k / 64 with 1 <= k <= 64, or -64 <= k <= 64: exact in bfloat16.
inline void draw(const Tensor& tensor, std::mt19937& engine, bool positive, std::vector<Index> index = {}) {
  const std::size_t axis = index.size();
  for (Index i = 0; i < tensor.shape[axis]; ++i) {
    index.push_back(i);
    if (index.size() < tensor.shape.size()) {
      draw(tensor, engine, positive, index);
    } else {
      const double x =
          positive ? static_cast<double>(engine() % 64 + 1) / 64 : (static_cast<double>(engine() % 129) - 64) / 64;
      if (index.size() == 4)
        tensor.set({index[0], index[1], index[2], index[3]}, x);
      else
        tensor.set({index[0], index[1], index[2]}, x);
    }
    index.pop_back();
  }
}

inline constexpr DLDataType kFloat{kDLFloat, 32, 1};

/// The kernel of that name, in true float where its tensors are floats.
inline const attest_kernel& kernel_of(std::string_view equation, const Format& format, const std::string& form,
                                      const char* reading, bool packed) {
  for (std::size_t i = 0; i < plugin().kernel_count; ++i) {
    const attest_kernel& kernel = plugin().kernels[i];
    if (kernel.equation == equation && kernel.form == form && std::string_view(kernel.reading) == reading &&
        std::string_view(kernel.layout) == (packed ? "thd" : "bhnd") &&
        std::memcmp(&kernel.dtype, &format.dtype, sizeof(DLDataType)) == 0 &&
        std::string_view(kernel.capabilities).find("profile") == std::string_view::npos)
      return kernel;
  }
  throw std::runtime_error("the plugin has no such kernel: " + form + " " + reading + " " + format.name);
}

inline constexpr std::byte kGuard{0xa5};
inline constexpr std::size_t kGuards = 256;

/// The offsets at which the sequences of a packed size begin.
struct Offsets {
  std::string name;
  std::vector<Index> begins;
};

/// Memory of the host and, for kernels of a GPU, its copy there, which has the same alignment to 64 bytes.
class Copies {
public:
  explicit Copies(DLDeviceType device) : device_(device) {
    if (device == kDLCUDA) driver();
  }
  ~Copies() {
    for (const Copy& copy : copies_) driver().free(copy.allocated);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void* stream() const { return device_ == kDLCUDA ? driver().stream() : nullptr; }
  /// Where a kernel finds the byte `at` of that memory.
  void* sent(void* at, std::byte* begin, std::size_t size) {
    if (device_ != kDLCUDA) return at;
    const std::uint64_t allocated = driver().allocate(size + 64);
    const std::uint64_t there = allocated + (std::bit_cast<std::uintptr_t>(begin) - allocated) % 64;
    driver().upload(there, begin, size);
    copies_.push_back({allocated, there, begin, size});
    return std::bit_cast<void*>(static_cast<std::uintptr_t>(there) +
                                static_cast<std::uintptr_t>(static_cast<std::byte*>(at) - begin));
  }
  void fetch() const {
    if (device_ == kDLCUDA) driver().wait();
    for (const Copy& copy : copies_) driver().download(copy.begin, copy.there, copy.size);
  }

private:
  struct Copy {
    std::uint64_t allocated, there;
    std::byte* begin;
    std::size_t size;
  };
  static const judge::CudaDriver& driver() {
    static const judge::CudaDriver found;
    return found;
  }

  DLDeviceType device_;
  std::vector<Copy> copies_;
};

/// Runs a kernel in a workspace of the size that it requests, less `missing` bytes; returns its error. Nothing after
/// the workspace may change. `first` is the equation's first output: it has as many heads as the call.
inline std::string call(const attest_kernel& kernel, Tensors& inputs, Tensors& outputs, std::string_view first,
                        const std::vector<attest_parameter>& parameters, std::vector<Offsets> packed = {},
                        std::size_t missing = 0) {
  std::vector<attest_tensor> in, out;
  Copies copies(kernel.device);
  const auto described = [&](Tensor& tensor) {
    return tensor.described(copies.sent(tensor.data(), tensor.bytes->data(), tensor.bytes->size()), kernel.device);
  };
  for (auto& [_, tensor] : inputs) in.push_back(described(tensor));
  for (auto& [_, tensor] : outputs) out.push_back(described(tensor));
  std::stable_partition(out.begin(), out.end(), [&](const attest_tensor& t) { return t.name == first; });
  std::vector<Index> extents, one{1};
  for (const Offsets& offsets : packed) extents.push_back(static_cast<Index>(offsets.begins.size()));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto* begins = reinterpret_cast<std::byte*>(packed[i].begins.data());
    void* there = copies.sent(begins, begins, packed[i].begins.size() * sizeof(Index));
    in.push_back({packed[i].name.c_str(), {there, {kernel.device, 0}, 1, {kDLInt, 64, 1}, &extents[i], one.data(), 0}});
  }
  char error[512] = "";
  attest_call request{
      sizeof(attest_call), kernel.equation,   kernel.form, in.data(), in.size(),       out.data(), out.size(),
      parameters.data(),   parameters.size(), nullptr,     0,         copies.stream(), error,      sizeof error};
  const std::size_t size = kernel.workspace(&request);
  if (missing > size) throw std::logic_error("the workspace has " + std::to_string(size) + " bytes");
  std::vector<std::byte> memory(size + kGuards + 64, kGuard);
  std::byte* workspace = memory.data() + (64 - std::bit_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  request.workspace_size = size - missing;
  request.workspace = size == 0 ? nullptr : copies.sent(workspace, memory.data(), memory.size());
  if (kernel.run(&request) != 0) return error[0] ? error : "no reason given";
  copies.fetch();
  for (std::size_t i = 0; i < kGuards; ++i)
    if (workspace[size + i] != kGuard)
      return "byte " + std::to_string(i) + " after the workspace of " + std::to_string(size) + " was written";
  return "";
}

}  // namespace attest::sizes
