// SPDX-License-Identifier: MIT
#include "attest/cuda/pattern.hpp"

namespace attest::cuda::sparse::image_local_2d {
namespace {

struct BlocksOfPixels : PositionPattern<BlocksOfPixels> {
  IntDivider columns = 1, block_rows = 1, block_columns = 1;
  int above = 0, beside = 0;
  bool causal = true;

  static BlocksOfPixels from(const Call& call) {
    const auto integer = [&](const char* name) { return static_cast<int>(call.integer(name)); };
    BlocksOfPixels pattern;
    pattern.columns = integer("columns");
    pattern.block_rows = integer("block_rows");
    pattern.block_columns = integer("block_columns");
    pattern.above = integer("above");
    pattern.beside = integer("beside");
    pattern.causal = call.integer("causal") != 0;
    return pattern;
  }
  /// A pixel and its block. Pixels are generated block by block, and by row and column in a block.
  struct Pixel {
    int row, column, block_row, block_column;
  };
  __device__ Pixel pixel(int i) const {
    const int row = i / columns, column = i % columns;
    return {row, column, row / block_rows, column / block_columns};
  }
  static __device__ bool is_before(const Pixel& a, const Pixel& b) {
    if (a.block_row != b.block_row) return a.block_row < b.block_row;
    if (a.block_column != b.block_column) return a.block_column < b.block_column;
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  }
  __device__ bool operator()(int i, int j) const {
    const Pixel query = pixel(i), key = pixel(j);
    if (causal && is_before(query, key)) return false;
    const int row = key.row - query.block_row * block_rows, column = key.column - query.block_column * block_columns;
    return row >= -above && row < block_rows && column >= -beside && column - beside < block_columns;
  }
};

}  // namespace

std::vector<attest_kernel> kernels() { return Patterned<BlocksOfPixels>::kernels("sparse.image_local_2d", "blocks"); }

}  // namespace attest::cuda::sparse::image_local_2d
