// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::longformer {
namespace {

struct Window {
  const std::uint8_t* globals = nullptr;  // [n] of each sequence and head
  Place place{};
  int radius = 0;  // keys on each side
  IntDivider dilation = 1;
  bool causal = false, symmetric = true;

  static Window from(const Call& call) {
    const auto globals = call.numbers<const std::uint8_t>(call.input("globals"));
    return {.globals = globals.data,
            .place = globals.place,
            .radius = static_cast<int>(call.integer("radius")),
            .dilation = static_cast<int>(call.integer("dilation")),
            .causal = call.integer("causal") != 0,
            .symmetric = call.integer("symmetric") != 0};
  }

  struct Sees {
    const Window& pattern;
    const std::uint8_t* globals;
    __device__ bool is_global(int i) const { return globals && globals[i * pattern.place.row]; }
    __device__ bool operator()(int i, int j) const {
      if (pattern.causal && j > i) return false;
      const int distance = i < j ? j - i : i - j;
      return (distance / pattern.dilation <= pattern.radius && distance % pattern.dilation == 0) || is_global(i) ||
             (pattern.symmetric && is_global(j));
    }
  };
  __device__ Sees of(int sequence, int head) const {
    return {*this, globals ? globals + place.at(sequence, head, 0, 0) : nullptr};
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Patterned<Window>::kernels("sparse.longformer", "mask", "not q_g; not k_g; not v_g");
}

}  // namespace attest::cuda::sparse::longformer
