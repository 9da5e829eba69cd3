// SPDX-License-Identifier: MIT
// The CUDA plugin of a build without CUDA: loading it fails with the reason.
#include <stdexcept>

#include "attest/attest_kernel.h"

extern "C" const attest_plugin* attest_plugin_v1(void) {
  throw std::runtime_error("this attest was built without CUDA kernels: " ATTEST_REASON);
}
