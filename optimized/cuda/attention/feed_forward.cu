// SPDX-License-Identifier: MIT
#include "attest/cuda/dense.hpp"
#include "attest/cuda/tiles.hpp"

namespace attest::cuda::attention::feed_forward {
namespace {

FeedForward network(const Call& call) { return FeedForward::of(call, call.sequences("n", "x", kTile), call.rows("x")); }

/// u = x w_1 + b_1, y = act(u) w_2 + b_2
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const FeedForward f = network(call);
    f.output<T, Factor>(call, f.hidden<T, Factor>(call), {}, call.output_rows("y"));
  }
};

/// From grad_u = (grad_y w_2^T) act'(u): grad_x = grad_u w_1^T; weights and biases get their sums over the tokens.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const FeedForward f = network(call);
    const Rows grad_y = call.rows("cotangent.y"), u = f.hidden<T, Factor>(call),
               grad_u = f.hidden_gradient<T, Factor>(call, u, grad_y);
    const auto wanted = [&](const char* name) {
      return call.output(name) ? call.output_rows_of_sequence(name) : OutputRows{};
    };
    dense<T, Factor>(call,
                     {.tokens = f.tokens, .x = grad_u, .w = f.w_1.transposed(), .y = call.output_rows("gradient.x")});
    dense_gradient<T, Factor>(call, {.tokens = f.tokens,
                                     .x = f.x,
                                     .grad_y = grad_u,
                                     .grad_w = wanted("gradient.w_1"),
                                     .grad_bias = wanted("gradient.b_1")});
    dense_gradient<T, Factor>(call, {.tokens = f.tokens,
                                     .x = u,
                                     .grad_y = grad_y,
                                     .grad_w = wanted("gradient.w_2"),
                                     .grad_bias = wanted("gradient.b_2")});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.feed_forward")
      .value<Value>("dense", {.layouts = Layouts::both})
      .gradient<Gradient>("dense", {.layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::attention::feed_forward
