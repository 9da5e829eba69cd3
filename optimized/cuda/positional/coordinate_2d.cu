// SPDX-License-Identifier: MIT
#include "attest/cuda/positions.hpp"

namespace attest::cuda::positional::coordinate_2d {
namespace {

/// The tokens of every step: those of one step are rows, and so many elements further are those of the next.
struct Steps {
  Index count;
  Index from, to;  // of the input, of the output
};

/// y_tp = x_tp + (positions_p + steps_t). Without tables y is x.
template <class T>
__global__ __launch_bounds__(kThreads) void add_coordinates(Sequences tokens, Steps steps, Rows x, Rows position_table,
                                                            Rows step_table, OutputRows y) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x / steps.count);
  const int head = static_cast<int>(blockIdx.z), step = static_cast<int>(blockIdx.x % steps.count);
  x.data = static_cast<const T*>(x.data) + step * steps.from;
  y.data = static_cast<T*>(y.data) + step * steps.to;
  const Panel<T> from(x, chunk, head), positions(position_table, {0, 0, chunk.first, chunk.count}, 0),
      step_row(step_table, {0, 0, step, 1}, 0);
  each_piece<T>(chunk, y.width, [&](int row, int column) {
    auto piece = Piece<T>::of(from, row, column);
    if (position_table.data) {
      const auto by_position = Piece<T>::of(positions, row, column), by_step = Piece<T>::of(step_row, 0, column);
      for (int i = 0; i < Piece<T>::size; ++i) piece.values[i] += by_position.values[i] + by_step.values[i];
    }
    piece.store(y, chunk, head, row, column);
  });
}

/// [steps, tokens, width] for every sequence and head.
template <class T>
void add(Call& call, const char* from, const char* to, const Rows& position_table, const Rows& step_table) {
  const DLTensor &x = *call.input(from), &y = *call.output(to);
  const Sequences tokens{.length = x.shape[3], .count = static_cast<int>(x.shape[0]), .chunk = kPositionRows};
  call.launch(add_coordinates<T>, {tokens.slots() * x.shape[2], 1, call.heads()}, kThreads, 0, tokens,
              Steps{x.shape[2], x.strides[2], y.strides[2]}, call.rows(from), position_table, step_table,
              call.output_rows(to));
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const DLTensor& x = *call.input("x");
    const int d = static_cast<int>(x.shape[4]);
    Sinusoids sinusoids{.frequencies = Frequencies::of(call, d / 2.0),
                        .start = call.integer("position_start"),
                        .rows = x.shape[3],
                        .width = d,
                        .blocks = false};
    const Rows positions = sinusoids.table(call);
    sinusoids.start = call.integer("step_start");
    sinusoids.rows = x.shape[2];
    add<T>(call, "x", "y", positions, sinusoids.table(call));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    add<T>(call, "cotangent.y", "gradient.x", {}, {});
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("positional.coordinate_2d")
      .value<Value>("sum_of_tables", {.tf32 = false})
      .gradient<Gradient>("sum_of_tables", {.tf32 = false})
      .rows();
}

}  // namespace attest::cuda::positional::coordinate_2d
