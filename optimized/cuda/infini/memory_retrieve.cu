// SPDX-License-Identifier: MIT
#include "attest/cuda/linear.hpp"

namespace attest::cuda::infini::memory_retrieve {
namespace {

/// a_i = phi(q_i)^T memory / (phi(q_i)^T z + eps): the product with [memory | z], the last column divides the others.
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi = call.rows("q", call.map("feature_map"));
    const OutputRows a = call.output_rows("a");
    read_state<T, Factor>(
        call, {.a = phi, .tokens = call.sequences("n", "q", 64), .division = division_of(call), .output = a},
        call.initial("memory", "z", phi.width(), a.width));
  }
};

/// With [G | e], the gradient of the memory's output through the division: grad_q_i = phi'(q_i) ([memory | z] [G |
/// e]_i) and [grad_memory | grad_z] = sum_i phi(q_i) [G | e]_i^T.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi = call.rows("q", call.map("feature_map")), grad_a = call.rows("cotangent.a");
    const Sequences tokens = call.sequences("n", "q", 64);
    const State memory = call.initial("memory", "z", phi.width(), grad_a.width());
    const OutputRows sums = call.workspace_rows(tokens, memory.columns);
    read_state<T, Factor>(call, {.a = phi, .tokens = tokens, .output = sums}, memory);
    const Rows G = division_gradients<T>(call, tokens, sums, grad_a, division_of(call).eps);
    read_state<T, Factor>(call, {.a = G, .tokens = tokens, .output = call.output_rows("gradient.q"), .sloped = phi},
                          memory.transposed());
    states_of<T, Factor>(call, phi, G, Order::past, tokens, {},
                         call.final("gradient.memory", "gradient.z", phi.width(), grad_a.width()));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.memory_retrieve")
      .value<Value>("augmented", {.can = widths})
      .gradient<Gradient>("augmented", {.can = widths})
      .rows();
}

}  // namespace attest::cuda::infini::memory_retrieve
