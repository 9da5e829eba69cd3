// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"

namespace attest::cuda::positional::learned {
namespace {

/// A row of the table has the cotangent of the one token at its position, or 0.
template <class T>
__global__ __launch_bounds__(kThreads) void table_gradient(Sequences tokens, Sequences table, Index start, Rows grad_y,
                                                           OutputRows grad_table) {
  const Chunk chunk = table.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Index count = tokens.length_of(chunk.sequence);
  const Panel<T> cotangent(grad_y, {chunk.sequence, tokens.origin_of(chunk.sequence), 0, 0}, head);
  each_piece<T>(chunk, grad_table.width, [&](int row, int column) {
    const Index token = chunk.first + row - start;
    Piece<T> piece{};
    if (token >= 0 && token < count) piece = Piece<T>::of(cotangent, token, column);
    piece.store(grad_table, chunk, head, row, column);
  });
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kPositionRows);
    launch_by_chunks(call, add_positions<T>, tokens, call.integer("start"), call.rows("x"),
                     call.rows_of_sequence("table"), call.output_rows("y"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kPositionRows);
    const Rows grad_y = call.rows("cotangent.y");
    launch_by_chunks(call, add_positions<T>, tokens, Index{0}, grad_y, Rows{}, call.output_rows("gradient.x"));
    const Sequences table{.length = call.input("table")->shape[2], .count = tokens.count, .chunk = kPositionRows};
    call.launch(table_gradient<T>, of_chunks(call, table), kThreads, 0, tokens, table, call.integer("start"), grad_y,
                call.output_rows_of_sequence("gradient.table"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.learned")
      .value<Value>("gather", {.layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("gather", {.layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::learned
