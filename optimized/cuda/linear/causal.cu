// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"

namespace attest::cuda::linear::causal {
namespace {

/// o_i = phi_q_i^T S_i / (phi_q_i^T Z_i + eps), and the state after the last token.
template <Algorithm algorithm>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    causal_value<algorithm, T, Factor>(call, call.sequences("n", "phi_q", call.integer("chunk")));
  }
};

template <Algorithm algorithm>
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    causal_gradient<algorithm, T, Factor>(call, call.sequences("n", "phi_q", call.integer("chunk")));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  constexpr const char* gradient = "c <= 256; m <= 256; groups == heads";
  return Kernels("linear.causal")
      .value<Value<Algorithm::tokens>>("recurrent", {.can = widths, .tf32 = false})
      .value<Value<Algorithm::chunks>>("chunked", {.can = widths})
      .value<Value<Algorithm::parallel>>("two_level", {.can = widths, .layouts = Layouts::both})
      .gradient<Gradient<Algorithm::tokens>>("recurrent", {.can = gradient, .tf32 = false})
      .gradient<Gradient<Algorithm::chunks>>("chunked", {.can = gradient})
      .gradient<Gradient<Algorithm::parallel>>("two_level", {.can = gradient, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::linear::causal
