// SPDX-License-Identifier: MIT
#include "attest/cuda/streaming.hpp"

namespace attest::cuda::streaming::sink_attention {
namespace {

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    Streaming(call, static_cast<int>(call.integer("sinks"))).run<T, Factor>();
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("streaming.sink_attention")
      .value<Online>("masked_full", {.can = "d <= 256; m <= 256; position == 'none'"})
      .rows();
}

}  // namespace attest::cuda::streaming::sink_attention
