// SPDX-License-Identifier: MIT
// The CUDA kernels of linear.causal alone.
#include "attest/cuda/plugin.hpp"

namespace attest::cuda {

namespace linear::causal {
std::vector<attest_kernel> kernels();
}

std::vector<attest_kernel> all_kernels() { return linear::causal::kernels(); }

}  // namespace attest::cuda
