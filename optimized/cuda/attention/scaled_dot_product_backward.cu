// SPDX-License-Identifier: MIT
#include "attest/cuda/softmax_attention.hpp"

namespace attest::cuda::attention::scaled_dot_product_backward {
namespace {

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    attend_backward<T, Factor>(
        call, logits_of(call, EmptyRow::zero),
        {.v = call.rows("v"),
         .grad_o = call.rows("grad_o"),
         .grad_q = call.output_rows("grad_q"),
         .grad_k = call.output_rows("grad_k"),
         .grad_v = call.output_rows("grad_v"),
         .grad_logits = call.output("grad_bias") ? call.output_rows("grad_bias") : OutputRows{}});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.scaled_dot_product_backward")
      .value<Value>("recompute", {.can = "d <= 256; m <= 256"})
      .value<Value>("recompute", {.can = "d <= 256; m <= 256; mask == false; bias == false; grad_bias == false",
                                  .layouts = Layouts::thd})
      .rows();
}

}  // namespace attest::cuda::attention::scaled_dot_product_backward
