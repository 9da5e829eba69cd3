// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::etc_global_local {
namespace {

struct GlobalAndLocal {
  const std::uint8_t* mask = nullptr;  // [n, n] of each sequence and head
  Place place{};
  int globals = 0, radius = 0;

  static GlobalAndLocal from(const Call& call) {
    const Rows mask = call.rows("mask");
    return {.mask = static_cast<const std::uint8_t*>(mask.data),
            .place = mask.place,
            .globals = static_cast<int>(call.integer("globals")),
            .radius = static_cast<int>(call.integer("radius"))};
  }

  struct Sees {
    const GlobalAndLocal& pattern;
    const std::uint8_t* mask;
    __device__ bool operator()(int i, int j) const {
      return (i < pattern.globals || j < pattern.globals || (i < j ? j - i : i - j) <= pattern.radius) &&
             (!mask || mask[i * pattern.place.row + j * pattern.place.column]);
    }
  };
  __device__ Sees of(int sequence, int head) const {
    return {*this, mask ? mask + place.at(sequence, head, 0, 0) : nullptr};
  }
};

using Attention = Patterned<GlobalAndLocal>;

template <class T>
__global__ __launch_bounds__(kThreads) void write_zeros(OutputRows out, int rows) {
  const int at = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  if (at < rows * out.width)
    out.store<T>(
        out.place.at(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.z), at / out.width, at % out.width), 0.0f);
}

/// Without labels the table is not read: its gradient is 0.
struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    Attention::Gradient::run<T, Factor>(call);
    const DLTensor& table = *call.output("gradient.table");
    const OutputRows out = call.output_rows_of_sequence("gradient.table");
    const int rows = static_cast<int>(table.shape[2]);
    call.launch(write_zeros<T>, {table.shape[0], divide_up(Index{rows} * out.width, kThreads), table.shape[1]},
                kThreads, 0, out, rows);
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  const std::string can = "d <= 256; m <= 256; not labels; softmax == 'joint'";
  return Kernels("sparse.etc_global_local")
      .value<Attention::Value>("banded", {.can = can})
      .gradient<Gradient>("banded", {.can = can + "; groups == heads"})
      .rows();
}

}  // namespace attest::cuda::sparse::etc_global_local
