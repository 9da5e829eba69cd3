// SPDX-License-Identifier: MIT
#include "attest/cuda/linear.hpp"

namespace attest::cuda::infini::memory_update_linear {
namespace {

/// Block length of the segment's sums: the parameter `block`, or 256, where the sum outweighs the state.
enum class Blocks { given, large };
Sequences blocks(const Call& call, Blocks blocks) {
  return call.sequences("n", "k", blocks == Blocks::given ? call.integer("block") : 256);
}

/// [memory' | z'] = [memory | z] + sum_t phi(k_t) [v_t | 1]^T
template <Blocks size>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi = call.rows("k", call.map("feature_map")), values = call.rows_and_ones("v");
    states_of<T, Factor>(call, phi, values, Order::past, blocks(call, size),
                         call.initial("memory", "z", phi.width(), values.stored),
                         call.final("memory", "z", phi.width(), values.stored));
  }
};

/// With [grad_memory' | grad_z'] given, which are the gradients by memory and z as they are: grad_v_t = grad_memory'^T
/// phi(k_t) and grad_k_t = phi'(k_t) ([grad_memory' | grad_z'] [v_t | 1]).
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Rows phi = call.rows("k", call.map("feature_map")), values = call.rows_and_ones("v");
    const Sequences tokens = call.sequences("n", "k", 64);
    const State cotangent = call.initial("cotangent.memory", "cotangent.z", phi.width(), values.stored);
    read_state<T, Factor>(call, {.a = phi, .tokens = tokens, .output = call.output_rows("gradient.v")}, cotangent);
    read_state<T, Factor>(call,
                          {.a = values, .tokens = tokens, .output = call.output_rows("gradient.k"), .sloped = phi},
                          cotangent.transposed());
    copy_state(call, tokens.count, cotangent, call.final("gradient.memory", "gradient.z", phi.width(), values.stored));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* widths = "d <= 256; m <= 256";
  return Kernels("infini.memory_update_linear")
      .value<Value<Blocks::large>>("matrix", {.can = widths})
      .value<Value<Blocks::given>>("scan", {.can = widths})
      .gradient<Gradient>("matrix", {.can = widths})
      .rows();
}

}  // namespace attest::cuda::infini::memory_update_linear
