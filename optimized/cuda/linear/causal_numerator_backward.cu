// SPDX-License-Identifier: MIT
#include "attest/cuda/causal.hpp"

namespace attest::cuda::linear::causal_numerator_backward {
namespace {

/// The gradients of sum_i G_i . Vbar_i, where Vbar_i = phi_q_i^T S_i is the numerator of linear.causal without a
/// carried state.
template <Algorithm algorithm>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Backward x{.phi_q = call.rows("phi_q"),
                     .phi_k = call.rows("phi_k"),
                     .v = call.rows("v"),
                     .tokens = call.sequences("n", "phi_q", call.integer("chunk")),
                     .grad_phi_q = call.output_rows("grad_phi_q"),
                     .grad_phi_k = call.output_rows("grad_phi_k"),
                     .grad_v = call.output_rows("grad_v")};
    numerator_gradients<algorithm, T, Factor>(call, x, call.rows("grad_o"), x.v, nullptr);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "c <= 256; m <= 256";
  return Kernels("linear.causal_numerator_backward")
      .value<Value<Algorithm::tokens>>("two_sweeps", {.can = widths, .tf32 = false})
      .value<Value<Algorithm::chunks>>("chunked", {.can = widths})
      .value<Value<Algorithm::parallel>>("causal_products", {.can = widths, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::linear::causal_numerator_backward
