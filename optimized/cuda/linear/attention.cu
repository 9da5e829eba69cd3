// SPDX-License-Identifier: MIT
#include "attest/cuda/linear.hpp"

namespace attest::cuda::linear::attention {
namespace {

/// Queries, and keys with values and a column of ones; of the keys that the mask hides nothing is read. The keys of a sequence are
/// summed in shards, all at once.
struct Operands {
  Rows phi_q, phi_k, values;
  Sequences queries, keys;

  Operands(const Call& call, Index shard)
      : phi_q(call.rows("phi_q")),
        phi_k(call.masked(call.rows("phi_k"), "mask")),
        values(call.masked(call.rows_and_ones("v"), "mask")),
        queries(call.sequences("n", "phi_q", 64)),
        keys(call.sequences("s", "phi_k", shard)) {}

  /// [T | z] = sum_j phi_k_j [v_j | 1]^T
  template <class T, class Factor>
  State state(Call& call) const {
    return states_of<T, Factor>(call, phi_k, values, Order::all, keys, {}, {});
  }
};

/// How many keys are a shard: as the parameter says, or as many as a state is worth.
enum class Shards { given, large };
Index length(const Call& call, Shards shards) { return shards == Shards::given ? call.integer("shard") : 256; }

/// o_i = phi_q_i^T T / (phi_q_i^T z + eps)
template <Shards shards>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Operands x(call, length(call, shards));
    const State state = x.state<T, Factor>(call);
    read_state<T, Factor>(call, {.a = x.phi_q, .tokens = x.queries, .division = division_of(call), .answers = call.answers("o")}, state);
  }
};

/// With G = grad_o / d and e = -(grad_o . o) / d: grad_phi_q_i = [T | z] [G | e]_i, and from [R | r] = sum_i phi_q_i [G | e]_i^T
/// grad_phi_k_j = [R | r] [v_j | 1] and grad_v_j = R^T phi_k_j.
template <Shards shards>
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Operands x(call, length(call, shards));
    const State state = x.state<T, Factor>(call);
    const Answers sums = call.workspace_rows(x.queries, x.values.width());
    read_state<T, Factor>(call, {.a = x.phi_q, .tokens = x.queries, .answers = sums}, state);
    const Rows G = cotangents<T>(call, x.queries, sums, call.rows("cotangent.o"), division_of(call).eps);
    read_state<T, Factor>(call, {.a = G, .tokens = x.queries, .answers = call.answers("gradient.phi_q")}, state.transposed());
    const State R = states_of<T, Factor>(call, x.phi_q, G, Order::all, x.queries, {}, {});
    read_state<T, Factor>(call, {.a = x.values, .tokens = x.keys, .answers = call.answers("gradient.phi_k")}, R.transposed());
    read_state<T, Factor>(call, {.a = x.phi_k, .tokens = x.keys, .answers = call.answers("gradient.v")}, R);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "c <= 256; m <= 256; hidden_nan == true";
  return Kernels("linear.attention")
      .value<Value<Shards::large>>("associative", {.can = can})
      .value<Value<Shards::given>>("sharded", {.can = can})
      .value<Value<Shards::given>>("sharded", {.can = can, .layout = "thd"})
      .gradient<Gradient<Shards::large>>("associative", {.can = can})
      .gradient<Gradient<Shards::given>>("sharded", {.can = can})
      .gradient<Gradient<Shards::given>>("sharded", {.can = can, .layout = "thd"})
      .rows();
}

}  // namespace attest::cuda::linear::attention
