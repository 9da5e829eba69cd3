// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::attend {
namespace {

struct Sets {
  const Index* sets = nullptr;  // [n, c] of each sequence and head
  Numbers<const Index> counts{};
  Place lists{}, place{};
  int places = 0;

  static Sets from(const Call& call) {
    const Rows rows = call.rows("sets");
    Sets pattern{.sets = static_cast<const Index*>(rows.data),
                 .counts = call.numbers<const Index>(call.input("counts")),
                 .lists = rows.place,
                 .place = rows.place,
                 .places = rows.stored};
    if (pattern.counts.data) pattern.place = {.sequence = 1, .head = 1};  // they may be others' than the lists
    return pattern;
  }
  static EmptyRow empty_row(const Call& call) { return empty_row_of(call, "empty_row"); }

  struct Sees {
    const Sets& pattern;
    const Index *sets, *counts;
    /// The bits of 32 keys.
    __device__ std::uint32_t word(int i, int first) const {
      const Index count = counts ? counts[i * pattern.counts.place.row] : pattern.places;
      std::uint32_t word = 0;
      for (Index t = 0; t < count && t < pattern.places; ++t) {
        const Index at = sets[i * pattern.lists.row + t * pattern.lists.column] - first;
        if (at >= 0 && at < 32) word |= 1u << at;
      }
      return word;
    }
  };
  __device__ Sees of(int sequence, int head) const {
    return {*this, sets + lists.at(sequence, head, 0, 0),
            counts.data ? counts.data + counts.place.at(sequence, head, 0, 0) : nullptr};
  }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<Sets>::kernels("sparse.attend", "blocks"); }

}  // namespace attest::cuda::sparse::attend
