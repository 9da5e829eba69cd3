// SPDX-License-Identifier: MIT
#include "attest/mpi/plugin.hpp"

extern "C" const attest_plugin* attest_plugin_v1(void) {
  static const std::vector<attest_kernel> kernels = attest::mpi::all_kernels();
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "attest mpi", ATTEST_VERSION, kernels.size(), kernels.data()};
  return &plugin;
}
