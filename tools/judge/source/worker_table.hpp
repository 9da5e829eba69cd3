// SPDX-License-Identifier: MIT
// Loading a plugin in the worker, and checking its table. Private to the judge.
#pragma once

#include <stdexcept>
#include <vector>

#include "attest/attest_kernel.h"
#include "attest/dtype.hpp"
#include "protocol.hpp"

namespace attest::judge {

/// A library that is no plugin, or whose table is malformed. The message says what is allowed.
struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

DLDataType dlpack_type(DType dtype);

/// Copies the kernels of a plugin's table. Returns the name, the version and the kernels as the parent gets them.
/// Throws LoadError.
protocol::Json table_of(const attest_plugin* plugin, std::vector<attest_kernel>& kernels);

/// table_of() the library, which it loads. Throws LoadError.
protocol::Json load_plugin(const char* library, std::vector<attest_kernel>& kernels);

}  // namespace attest::judge
