// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"
#include "attest/spec/sparse/fixed_pattern.hpp"

namespace attest::cuda::sparse::fixed_pattern {
namespace {

using spec::sparse::fixed_pattern::Part;

struct Fixed : PositionPattern<Fixed> {
  IntDivider period = 1;
  int summary = 1;
  bool own_block = true, summaries = true;  // A1, A2

  static Fixed from(const Call& call) {
    const auto part = call.choice<Part>("part");
    Fixed pattern;
    pattern.period = static_cast<int>(call.integer("period"));
    pattern.summary = static_cast<int>(call.integer("summary"));
    pattern.own_block = part != Part::second;
    pattern.summaries = part != Part::first;
    return pattern;
  }
  __device__ bool operator()(int i, int j) const {
    return j <= i && ((own_block && i / period == j / period) || (summaries && j % period >= period - summary));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<Fixed>::kernels("sparse.fixed_pattern", "mask"); }

}  // namespace attest::cuda::sparse::fixed_pattern
