// SPDX-License-Identifier: MIT
// The CUDA kernels of linear.causal and of its gradients, in true float and in bfloat16: what shows a mistake there is the same source in tf32 and float16.
#include <string_view>

#include "attest/cuda/plugin.hpp"

namespace attest::cuda {

namespace linear::causal {
std::vector<attest_kernel> kernels();
}
namespace linear::causal_backward {
std::vector<attest_kernel> kernels();
}

std::vector<attest_kernel> all_kernels() {
  auto all = linear::causal::kernels();
  const auto backward = linear::causal_backward::kernels();
  all.insert(all.end(), backward.begin(), backward.end());
  std::erase_if(all, [](const attest_kernel& kernel) {
    return (kernel.dtype.code == kDLFloat && kernel.dtype.bits == 16) || std::string_view(kernel.capabilities).find("profile") != std::string_view::npos;
  });
  return all;
}

}  // namespace attest::cuda
