// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::big_bird {
namespace {

struct Blocks {
  const Index* lists = nullptr;  // [n, c] of each sequence and head: a token of each block that a block's list names
  Place place{};
  IntDivider length = 1;
  int radius = 0, first_global = 0, global_from = 0;  // blocks
  int listed = 0;                                     // c

  static Blocks from(const Call& call) {
    const Rows rows = call.rows("random");
    const auto length = call.integer("block");
    return {.lists = static_cast<const Index*>(rows.data),
            .place = rows.place,
            .length = static_cast<int>(length),
            .radius = static_cast<int>(call.integer("radius")),
            .first_global = static_cast<int>(call.integer("first_global")),
            .global_from = static_cast<int>(divide_up(call.input("q")->shape[2], length) - call.integer("last_global")),
            .listed = rows.stored};
  }

  struct Sees {
    const Blocks& pattern;
    Index first;
    __device__ bool is_global(int block) const { return block < pattern.first_global || block >= pattern.global_from; }
    __device__ bool operator()(int i, int j) const {
      const int a = i / pattern.length, e = j / pattern.length;
      if ((a < e ? e - a : a - e) <= pattern.radius || is_global(a) || is_global(e)) return true;
      const Index list = first + static_cast<Index>(a) * static_cast<int>(pattern.length) * pattern.place.row;
      for (int t = 0; t < pattern.listed; ++t)
        if (static_cast<int>(pattern.lists[list + t * pattern.place.column]) / pattern.length == e) return true;
      return false;
    }
  };
  __device__ Sees of(int sequence, int head) const { return {*this, place.at(sequence, head, 0, 0)}; }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<Blocks>::kernels("sparse.big_bird", "blocks"); }

}  // namespace attest::cuda::sparse::big_bird
