// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::image_local_1d {
namespace {

struct BlocksInARow : PositionPattern<BlocksInARow> {
  IntDivider length = 1;  // l_q
  int extension = 0;      // l_m
  bool causal = true;

  static BlocksInARow from(const Call& call) {
    BlocksInARow pattern;
    pattern.length = static_cast<int>(call.integer("query_block"));
    pattern.extension = static_cast<int>(call.integer("extension"));
    pattern.causal = call.integer("causal") != 0;
    return pattern;
  }
  __device__ bool operator()(int i, int j) const {
    const int start = i - i % length;
    return j >= start - extension && (causal ? j <= i : j - start < length);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<BlocksInARow>::kernels("sparse.image_local_1d", "blocks"); }

}  // namespace attest::cuda::sparse::image_local_1d
