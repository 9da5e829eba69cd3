// SPDX-License-Identifier: MIT
#include "attest/cuda/streaming.hpp"

namespace attest::cuda::streaming::lambda_attention {
namespace {

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    Streaming(call, static_cast<int>(call.integer("starts"))).run<T, Factor>();
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("streaming.lambda_attention")
      .value<Online>("mask", {.can = "d <= 256; m <= 256; position == 'none'"})
      .rows();
}

}  // namespace attest::cuda::streaming::lambda_attention
