// SPDX-License-Identifier: MIT
#include "attest/openmp/plugin.hpp"

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = attest::openmp::all_kernels();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "attest openmp", ATTEST_VERSION, kernels.size(),
                                    kernels.data()};
  return &plugin;
}
