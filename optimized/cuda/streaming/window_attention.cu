// SPDX-License-Identifier: MIT
#include "attest/cuda/streaming.hpp"

namespace attest::cuda::streaming::window_attention {
namespace {

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    Streaming(call, 0).run<T, Factor>();
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("streaming.window_attention").value<Online>("banded_blocks", {.can = "d <= 256; m <= 256"}).rows();
}

}  // namespace attest::cuda::streaming::window_attention
