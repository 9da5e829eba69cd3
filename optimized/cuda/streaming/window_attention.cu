// SPDX-License-Identifier: MIT
#include "attest/cuda/streaming.hpp"
#include "attest/spec/streaming/window_attention.hpp"

namespace attest::cuda::streaming::window_attention {
namespace {

using spec::streaming::window_attention::CacheOrder;

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    Streaming(call, 0, call.choice<CacheOrder>("cache_order") == CacheOrder::oldest_first).run<T, Factor>();
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("streaming.window_attention").value<Online>("banded_blocks", {.can = "d <= 256; m <= 256"}).rows();
}

}  // namespace attest::cuda::streaming::window_attention
