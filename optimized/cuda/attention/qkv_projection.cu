// SPDX-License-Identifier: MIT
#include "attest/cuda/dense.hpp"
#include "attest/cuda/tiles.hpp"

namespace attest::cuda::attention::qkv_projection {
namespace {

/// q = x w_q, k = x_kv w_k, v = x_kv w_v
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences queries = call.sequences("n", "x", kTile), keys = call.sequences("s", "x_kv", kTile);
    const Rows x = call.rows("x"), x_kv = call.rows("x_kv");
    dense<T, Factor>(call, {.tokens = queries, .x = x, .w = weights(call, "w_q"), .y = call.output_rows("q")});
    dense<T, Factor>(call, {.tokens = keys, .x = x_kv, .w = weights(call, "w_k"), .y = call.output_rows("k")});
    dense<T, Factor>(call, {.tokens = keys, .x = x_kv, .w = weights(call, "w_v"), .y = call.output_rows("v")});
  }
};

/// grad_x = grad_q w_q^T, grad_x_kv = grad_k w_k^T + grad_v w_v^T, and for every weight the sum of x_i^T grad_i over
/// its tokens.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences queries = call.sequences("n", "x", kTile), keys = call.sequences("s", "x_kv", kTile);
    const Rows x = call.rows("x"), x_kv = call.rows("x_kv"), grad_q = call.rows("cotangent.q"),
               grad_k = call.rows("cotangent.k"), grad_v = call.rows("cotangent.v");
    const OutputRows grad_from_k = call.workspace_rows(keys, x_kv.stored);
    dense<T, Factor>(
        call,
        {.tokens = queries, .x = grad_q, .w = weights(call, "w_q").transposed(), .y = call.output_rows("gradient.x")});
    dense<T, Factor>(call, {.tokens = keys, .x = grad_k, .w = weights(call, "w_k").transposed(), .y = grad_from_k});
    dense<T, Factor>(call, {.tokens = keys,
                            .x = grad_v,
                            .w = weights(call, "w_v").transposed(),
                            .addend = read_back(grad_from_k),
                            .y = call.output_rows("gradient.x_kv")});
    dense_gradient<T, Factor>(
        call, {.tokens = queries, .x = x, .grad_y = grad_q, .grad_w = call.output_rows_of_sequence("gradient.w_q")});
    dense_gradient<T, Factor>(
        call, {.tokens = keys, .x = x_kv, .grad_y = grad_k, .grad_w = call.output_rows_of_sequence("gradient.w_k")});
    dense_gradient<T, Factor>(
        call, {.tokens = keys, .x = x_kv, .grad_y = grad_v, .grad_w = call.output_rows_of_sequence("gradient.w_v")});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("attention.qkv_projection")
      .value<Value>("separate", {.layouts = Layouts::both})
      .gradient<Gradient>("separate", {.layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::attention::qkv_projection
