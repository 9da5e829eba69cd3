// SPDX-License-Identifier: MIT
#include "attest/cuda/linear.hpp"

namespace attest::cuda::infini::memory_update_delta {
namespace {

/// A segment, and the memory before it.
struct Segment {
  Rows phi, v;
  Sequences tokens;
  State memory;

  explicit Segment(const Call& call)
      : phi(call.rows("k", call.map("feature_map"))),
        v(call.rows("v")),
        tokens(call.sequences("n", "k", 256)),
        memory(call.initial("memory", "z", phi.width(), v.width())) {}

  /// u_t = v_t - phi(k_t)^T memory / (phi(k_t)^T z + eps), and a column of ones.
  template <class T, class Factor>
  Rows residuals(Call& call) const {
    const OutputRows u = call.workspace_rows(tokens, v.width());
    read_state<T, Factor>(
        call, {.a = phi, .tokens = tokens, .division = division_of(call), .output = u, .negated = true, .addend = v},
        memory);
    Rows rows = read_back(u);
    rows.ones = true;
    return rows;
  }
};

/// [memory' | z'] = [memory | z] + sum_t phi(k_t) [u_t | 1]^T
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Segment x(call);
    states_of<T, Factor>(call, x.phi, x.residuals<T, Factor>(call), Order::past, x.tokens, x.memory,
                         call.final("memory", "z", x.phi.width(), x.v.width()));
  }
};

/// Given [M' | z'], the gradients by the new state: v_t gets grad_u_t = M'^T phi(k_t), and the memory's output gets
/// -grad_u_t, whose gradient through the division is [G | e]. So grad_k_t = phi'(k_t) ([M' | z'] [u_t | 1] + [memory |
/// z] [G | e]_t), and [grad_memory | grad_z] = [M' | z'] + sum_t phi(k_t) [G | e]_t^T.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Segment x(call);
    const int d = x.phi.width(), m = x.v.width();
    const State cotangent = call.initial("cotangent.memory", "cotangent.z", d, m);
    Product grad_u{.a = x.phi, .tokens = x.tokens, .output = call.output_rows("gradient.v")};
    read_state<T, Factor>(call, grad_u, cotangent);
    grad_u.negated = true;
    grad_u.output = call.workspace_rows(x.tokens, m);
    read_state<T, Factor>(call, grad_u, cotangent);

    const OutputRows sums = call.workspace_rows(x.tokens, m + 1);
    read_state<T, Factor>(call, {.a = x.phi, .tokens = x.tokens, .output = sums}, x.memory);
    const Rows G = division_gradients<T>(call, x.tokens, sums, read_back(grad_u.output), division_of(call).eps);

    const OutputRows stored = call.workspace_rows(x.tokens, d);
    read_state<T, Factor>(call,
                          {.a = x.residuals<T, Factor>(call), .tokens = x.tokens, .output = stored, .sloped = x.phi},
                          cotangent.transposed());
    read_state<T, Factor>(call,
                          {.a = G,
                           .tokens = x.tokens,
                           .output = call.output_rows("gradient.k"),
                           .sloped = x.phi,
                           .addend = read_back(stored)},
                          x.memory.transposed());
    states_of<T, Factor>(call, x.phi, G, Order::past, x.tokens, cotangent,
                         call.final("gradient.memory", "gradient.z", d, m));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.memory_update_delta")
      .value<Value>("matrix", {.can = widths})
      .gradient<Gradient>("matrix", {.can = widths})
      .rows();
}

}  // namespace attest::cuda::infini::memory_update_delta
