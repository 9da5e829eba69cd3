// SPDX-License-Identifier: MIT
#include "attest/cuda/noncausal.hpp"

namespace attest::cuda::linear::attention {
namespace {

/// Number of keys in a shard: the parameter `shard`, or 256, where the sum outweighs the state.
enum class Shards { given, large };

/// Nothing of a masked key is read.
template <Shards shards>
Noncausal operands(const Call& call) {
  return {.phi_q = call.features("phi_q"),
          .phi_k = call.masked(call.features("phi_k"), "mask"),
          .values = call.masked(call.rows_and_ones("v"), "mask"),
          .queries = call.sequences("n", "phi_q", 64),
          .keys = call.sequences("s", "phi_k", shards == Shards::given ? call.integer("shard") : 256)};
}

template <Shards shards>
struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    operands<shards>(call).template attend<T, Factor>(call, division_of(call), call.output_rows("o"));
  }
};

template <Shards shards>
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    operands<shards>(call).template backward<T, Factor>(
        call, division_of(call).eps, call.rows("cotangent.o"), call.output_rows("gradient.phi_q"),
        call.output_rows("gradient.phi_k"), call.output_rows("gradient.v"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  constexpr const char* can = "c <= 256; m <= 256; hidden_nan == true";
  constexpr const char* gradient = "c <= 256; m <= 256; hidden_nan == true; groups == heads";
  return Kernels("linear.attention")
      .value<Value<Shards::large>>("associative", {.can = can})
      .value<Value<Shards::given>>("sharded", {.can = can, .layouts = Layouts::both})
      .gradient<Gradient<Shards::large>>("associative", {.can = gradient})
      .gradient<Gradient<Shards::given>>("sharded", {.can = gradient, .layouts = Layouts::both})
      .rows();
}

}  // namespace attest::cuda::linear::attention
