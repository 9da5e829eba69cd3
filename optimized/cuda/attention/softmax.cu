// SPDX-License-Identifier: MIT
#include "attest/cuda/softmax.hpp"

namespace attest::cuda::attention::softmax {
namespace {

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    Softmax p = Softmax::of(call, call.rows("x"), call.output_rows("a"));
    p.empty = empty_row_of(call, "empty_row");
    if (call.output("lse")) p.lse = call.output_rows("lse");
    call.launch(softmax_weights<T>, of_chunks(call, p.rows), kThreads, 0, p);
  }
};

/// A row in which nothing is visible gives its logits no gradient, in every convention.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    Softmax p = Softmax::of(call, call.rows("x"), call.output_rows("gradient.x"));
    p.grad_a = call.rows("cotangent.a");
    p.grad_lse = call.rows("cotangent.lse");
    call.launch(softmax_gradient<T>, of_chunks(call, p.rows), kThreads, 0, p);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.softmax")
      .value<Value>("online", {.can = "hidden_nan == true", .tf32 = false})
      .gradient<Gradient>("online", {.can = "hidden_nan == true", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::attention::softmax
