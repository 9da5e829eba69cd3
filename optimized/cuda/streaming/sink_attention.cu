// SPDX-License-Identifier: MIT
#include "attest/cuda/streaming.hpp"
#include "attest/spec/streaming/sink_attention.hpp"

namespace attest::cuda::streaming::sink_attention {
namespace {

using spec::streaming::sink_attention::CacheOrder;

struct Online {
  template <class T, class Factor>
  static void run(Call& call) {
    Streaming(call, static_cast<int>(call.integer("sinks")),
              call.choice<CacheOrder>("cache_order") == CacheOrder::oldest_first)
        .run<T, Factor>();
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("streaming.sink_attention")
      .value<Online>("masked_full", {.can = "d <= 256; m <= 256; position == 'none'"})
      .rows();
}

}  // namespace attest::cuda::streaming::sink_attention
