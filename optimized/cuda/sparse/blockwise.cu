// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::blockwise {
namespace {

struct Permuted {
  const Index* permutation = nullptr;  // [p] of each sequence and head
  Place place{};
  int tokens = 1, blocks = 1;

  static Permuted from(const Call& call) {
    const Rows rows = call.rows_of_sequence("permutation");
    return {static_cast<const Index*>(rows.data), rows.place, static_cast<int>(call.input("q")->shape[2]), rows.stored};
  }

  struct Sees {
    const Permuted& pattern;
    Index first;
    __device__ int block(int i) const {  // floor(i p / n)
      return static_cast<int>(static_cast<Index>(i) * pattern.blocks / pattern.tokens);
    }
    __device__ bool operator()(int i, int j) const {
      return pattern.permutation[first + block(i) * pattern.place.column] == block(j);
    }
  };
  __device__ Sees of(int sequence, int head) const { return {*this, place.at(sequence, head, 0, 0)}; }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<Permuted>::kernels("sparse.blockwise", "blocks"); }

}  // namespace attest::cuda::sparse::blockwise
