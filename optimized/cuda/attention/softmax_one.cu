// SPDX-License-Identifier: MIT
#include "attest/cuda/softmax.hpp"

namespace attest::cuda::attention::softmax_one {
namespace {

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    Softmax p = Softmax::of(call, call.rows("x"), call.output_rows("a"));
    p.one = true;
    call.launch(softmax_weights<T>, of_chunks(call, p.rows), kThreads, 0, p);
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    Softmax p = Softmax::of(call, call.rows("x"), call.output_rows("gradient.x"));
    p.one = true;
    p.grad_a = call.rows("cotangent.a");
    call.launch(softmax_gradient<T>, of_chunks(call, p.rows), kThreads, 0, p);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.softmax_one")
      .value<Value>("virtual_token", {.can = "hidden_nan == true", .tf32 = false})
      .gradient<Gradient>("virtual_token", {.can = "hidden_nan == true", .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::attention::softmax_one
