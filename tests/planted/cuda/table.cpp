// SPDX-License-Identifier: MIT
// The CUDA kernels of softmax attention, of linear.causal and of their gradients, in true float and in bfloat16: what shows a mistake there is
// the same source in tf32 and float16.
#include <string_view>

#include "attest/cuda/plugin.hpp"

namespace attest::cuda {

namespace attention::scaled_dot_product {
std::vector<attest_kernel> kernels();
}
namespace attention::scaled_dot_product_backward {
std::vector<attest_kernel> kernels();
}
namespace linear::causal {
std::vector<attest_kernel> kernels();
}
namespace linear::causal_backward {
std::vector<attest_kernel> kernels();
}

std::vector<attest_kernel> all_kernels() {
  std::vector<attest_kernel> all;
  for (const auto equation : {attention::scaled_dot_product::kernels, attention::scaled_dot_product_backward::kernels, linear::causal::kernels, linear::causal_backward::kernels}) {
    const auto kernels = equation();
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  std::erase_if(all, [](const attest_kernel& kernel) {
    return (kernel.dtype.code == kDLFloat && kernel.dtype.bits == 16) || std::string_view(kernel.capabilities).find("profile") != std::string_view::npos;
  });
  return all;
}

}  // namespace attest::cuda
