// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"
#include "attest/spec/sparse/strided_pattern.hpp"

namespace attest::cuda::sparse::strided_pattern {
namespace {

using spec::sparse::strided_pattern::Part;
using spec::sparse::strided_pattern::Window;

struct Strided : PositionPattern<Strided> {
  IntDivider stride = 1;
  int reach = 0;                          // keys before a query's own in its window
  bool last_keys = true, every_l = true;  // A1, A2

  static Strided from(const Call& call) {
    const auto part = call.choice<Part>("part");
    const int stride = static_cast<int>(call.integer("stride"));
    Strided pattern;
    pattern.stride = stride;
    pattern.reach = call.choice<Window>("window") == Window::exclusive ? stride - 1 : stride;
    pattern.last_keys = part != Part::second;
    pattern.every_l = part != Part::first;
    return pattern;
  }
  __device__ bool operator()(int i, int j) const {
    return j <= i && ((last_keys && i - j <= reach) || (every_l && (i - j) % stride == 0));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<Strided>::kernels("sparse.strided_pattern", "mask"); }

}  // namespace attest::cuda::sparse::strided_pattern
