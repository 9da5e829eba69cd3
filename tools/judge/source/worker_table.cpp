// SPDX-License-Identifier: MIT
#include "worker_table.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "attest/judge/host.hpp"
#include "worker_process.hpp"

namespace attest::judge {
namespace {

using protocol::Json;

constexpr const char* symbol = "attest_plugin_v1";

std::string quoted(const char* text) {
  if (text == nullptr) return "NULL";
  std::string result = printable(text, 100);
  result.insert(0, 1, '"').push_back('"');
  return result;
}

template <class Words>
void require_one_of(const char* text, const Words& allowed, const std::string& subject) {
  std::string listed;
  for (const char* word : allowed) {
    if (text != nullptr && std::strcmp(text, word) == 0) return;
    listed += (listed.empty() ? "" : ", ") + quoted(word);
  }
  throw LoadError(subject + " " + quoted(text) + "; allowed: " + listed);
}

/// `kernel` names the kernel in the message.
DType dtype_of(const DLDataType& type, const std::string& kernel) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const DLDataType allowed = dlpack_type(dtype);
    if (allowed.code == type.code && allowed.bits == type.bits && allowed.lanes == type.lanes) return dtype;
  }
  throw LoadError(kernel + "has dtype {code " + std::to_string(type.code) + ", bits " + std::to_string(type.bits) +
                  ", lanes " + std::to_string(type.lanes) +
                  "}; allowed: {kDLFloat, 64, 1}, {kDLFloat, 32, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 16, 1}");
}

const char* device_of(const attest_kernel& kernel, const std::string& where) {
  // Read as an integer: the plugin may have been built against enumerators that this DLPack header does not have.
  std::underlying_type_t<DLDeviceType> device{};
  static_assert(sizeof device == sizeof kernel.device);
  std::memcpy(&device, &kernel.device, sizeof device);
  if (device != kDLCPU && device != kDLCUDA)
    throw LoadError(where + "has device " + std::to_string(device) + "; allowed: kDLCPU (" + std::to_string(kDLCPU) +
                    "), kDLCUDA (" + std::to_string(kDLCUDA) + ")");
  return device == kDLCPU ? "cpu" : "cuda";
}

/// One row of the table.
Json describe(const attest_kernel& kernel, std::size_t number) {
  const std::string where = "kernel " + std::to_string(number) +
                            (kernel.equation != nullptr ? " (" + printable(kernel.equation, 100) + ")" : "") + " ";
  if (kernel.equation == nullptr || *kernel.equation == '\0') throw LoadError(where + "has no equation");
  if (kernel.run == nullptr) throw LoadError(where + "has a NULL run function");
  require_one_of(kernel.reading, std::array{"value", "gradient"}, where + "has reading");
  require_one_of(kernel.layout, kLayouts, where + "has layout");
  const DType dtype = dtype_of(kernel.dtype, where);
  constexpr std::size_t long_text = 65536;
  return {{"equation", printable(kernel.equation)},
          {"form", printable(kernel.form)},
          {"reading", kernel.reading},
          {"dtype", name(dtype)},
          {"device", device_of(kernel, where)},
          {"layout", kernel.layout},
          {"capabilities", printable(kernel.capabilities, long_text)}};
}

}  // namespace

DLDataType dlpack_type(DType dtype) {
#if defined(DLPACK_MAJOR_VERSION) || DLPACK_VERSION >= 80
  constexpr std::uint8_t boolean = kDLBool;
#else
  constexpr std::uint8_t boolean = kDLUInt;
#endif
  switch (dtype) {
    case DType::f64: return {kDLFloat, 64, 1};
    case DType::f32: return {kDLFloat, 32, 1};
    case DType::bf16: return {kDLBfloat, 16, 1};
    case DType::f16: return {kDLFloat, 16, 1};
    case DType::i64: return {kDLInt, 64, 1};
    case DType::boolean: return {boolean, 8, 1};
  }
  give_up("unknown dtype in a request");
}

Json table_of(const attest_plugin* plugin, std::vector<attest_kernel>& kernels) {
  if (plugin == nullptr) throw LoadError(std::string(symbol) + "() returned NULL instead of a table");
  if (plugin->abi_version != ATTEST_ABI_VERSION)
    throw LoadError("has abi_version " + std::to_string(plugin->abi_version) + "; this attest needs abi_version " +
                    std::to_string(ATTEST_ABI_VERSION));
  constexpr std::size_t most = 65536;
  if (plugin->kernel_count == 0 || plugin->kernel_count > most)
    throw LoadError("has kernel_count " + std::to_string(plugin->kernel_count) + "; allowed: 1 to " +
                    std::to_string(most));
  if (plugin->kernels == nullptr)
    throw LoadError("has kernel_count " + std::to_string(plugin->kernel_count) + " but kernels is NULL");
  kernels.assign(plugin->kernels, plugin->kernels + plugin->kernel_count);
  Json table = Json::array();
  for (std::size_t i = 0; i < kernels.size(); ++i) table.push_back(describe(kernels[i], i));
  return {{"name", printable(plugin->name)}, {"version", printable(plugin->version)}, {"kernels", std::move(table)}};
}

Json load_plugin(const char* library, std::vector<attest_kernel>& kernels) {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw LoadError("cannot be loaded as a shared library: " + printable(::dlerror()));
  const auto entry = reinterpret_cast<attest_plugin_function>(::dlsym(handle, symbol));
  if (entry == nullptr)
    throw LoadError(std::string("has no symbol ") + symbol +
                    "; a plugin must export \"const attest_plugin* attest_plugin_v1(void)\" with C linkage");
  return table_of(entry(), kernels);
}

}  // namespace attest::judge
