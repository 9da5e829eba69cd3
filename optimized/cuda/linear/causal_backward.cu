// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"

namespace attest::cuda::linear::causal_backward {
namespace {

/// The gradients of sum_i grad_o_i . o_i, where o is linear.causal without a carried state.
template <Algorithm algorithm>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    backward<algorithm, T, Factor>(call, {.phi_q = call.rows("phi_q"),
                                          .phi_k = call.rows("phi_k"),
                                          .v = call.rows("v"),
                                          .grad_o = call.rows("grad_o"),
                                          .tokens = call.sequences("n", "phi_q", 64),
                                          .eps = static_cast<float>(call.real("eps")),
                                          .grad_phi_q = call.output_rows("grad_phi_q"),
                                          .grad_phi_k = call.output_rows("grad_phi_k"),
                                          .grad_v = call.output_rows("grad_v")});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  return Kernels("linear.causal_backward")
      .value<Value<Algorithm::tokens>>("closed", {.can = widths, .tf32 = false})
      .value<Value<Algorithm::parallel>>("augmented", {.can = widths, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::linear::causal_backward
