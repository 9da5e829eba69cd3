// SPDX-License-Identifier: MIT
#include "attest/cuda/linear.hpp"

namespace attest::cuda::infini::memory_update_linear {
namespace {

/// The segment in blocks that are summed at once: as the parameter says, or as long as a state is worth.
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
    const State given = call.initial("cotangent.memory", "cotangent.z", phi.width(), values.stored);
    read_state<T, Factor>(call, {.a = phi, .tokens = tokens, .answers = call.answers("gradient.v")}, given);
    read_state<T, Factor>(call, {.a = values, .tokens = tokens, .answers = call.answers("gradient.k"), .sloped = phi},
                          given.transposed());
    copy_state(call, tokens.count, given, call.final("gradient.memory", "gradient.z", phi.width(), values.stored));
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
