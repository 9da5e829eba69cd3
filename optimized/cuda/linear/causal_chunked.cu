// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"

namespace attest::cuda::linear::causal_chunked {
namespace {

/// All tokens of a call are one chunk to its equation. Here they are cut into chunks of their own, of at most `length`
/// tokens.
template <Algorithm algorithm, int length>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    causal_value<algorithm, T, Factor>(call, call.sequences("n", "phi_q", length));
  }
};

template <Algorithm algorithm, int length>
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    causal_gradient<algorithm, T, Factor>(call, call.sequences("n", "phi_q", length));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  constexpr const char* gradient = "c <= 256; m <= 256; groups == heads";
  return Kernels("linear.causal_chunked")
      .value<Value<Algorithm::parallel, 256>>("matrix", {.can = widths, .layouts = Layouts::both})
      .value<Value<Algorithm::tokens, 1>>("steps", {.can = widths, .tf32 = false})
      .value<Value<Algorithm::chunks, 64>>("augmented", {.can = widths})
      .gradient<Gradient<Algorithm::parallel, 256>>("matrix", {.can = gradient, .layouts = Layouts::both})
      .gradient<Gradient<Algorithm::tokens, 1>>("steps", {.can = gradient, .tf32 = false})
      .gradient<Gradient<Algorithm::chunks, 64>>("augmented", {.can = gradient})
      .rows();
}

}  // namespace attest::cuda::linear::causal_chunked
