// SPDX-License-Identifier: MIT
#include "attest/cuda/plugin.hpp"

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = attest::cuda::all_kernels();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, ATTEST_PLUGIN_NAME, ATTEST_VERSION, kernels.size(),
                                    kernels.data()};
  return &plugin;
}
