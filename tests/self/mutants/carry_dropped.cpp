// SPDX-License-Identifier: MIT
// The OpenMP kernels of linear.causal alone, one of them a mutant.
#include "attest/openmp/plugin.hpp"

namespace attest::openmp {
extern const std::vector<attest_kernel> kernels_linear_causal;
}

extern "C" const attest_plugin* attest_plugin_v1(void) {
  const auto& kernels = attest::openmp::kernels_linear_causal;
  static const attest_plugin plugin{ATTEST_ABI_VERSION, "carry dropped", "0", kernels.size(), kernels.data()};
  return &plugin;
}
