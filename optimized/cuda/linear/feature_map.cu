// SPDX-License-Identifier: MIT
#include "attest/cuda/elements.hpp"

namespace attest::cuda::linear::feature_map {
namespace {

constexpr int kRows = 32;  // of a block

/// phi(x), element by element.
template <class T>
__global__ __launch_bounds__(kThreads) void features(Sequences tokens, Map map, Rows x, OutputRows phi) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Panel<T> from(x, chunk, head);
  each_piece<T>(chunk, phi.width, [&](int row, int column) {
    auto piece = Piece<T>::of(from, row, column);
    for (float& value : piece.values) value = mapped(map, value);
    piece.store(phi, chunk, head, row, column);
  });
}

/// grad_x = phi'(x) grad_phi
template <class T>
__global__ __launch_bounds__(kThreads) void slopes(Sequences tokens, Map map, Rows x, Rows grad_phi,
                                                   OutputRows grad_x) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Panel<T> at(x, chunk, head), cotangent(grad_phi, chunk, head);
  each_piece<T>(chunk, grad_x.width, [&](int row, int column) {
    const auto where = Piece<T>::of(at, row, column);
    auto piece = Piece<T>::of(cotangent, row, column);
    for (int i = 0; i < Piece<T>::size; ++i) piece.values[i] *= slope(map, where.values[i]);
    piece.store(grad_x, chunk, head, row, column);
  });
}

struct Value {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kRows);
    launch_by_chunks(call, features<T>, tokens, call.map("kind"), call.rows("x"), call.output_rows("phi"));
  }
};

struct Gradient {
  template <class T, class Factor>
  static void run(Call& call) {
    const Sequences tokens = call.sequences("n", "x", kRows);
    launch_by_chunks(call, slopes<T>, tokens, call.map("kind"), call.rows("x"), call.rows("cotangent.phi"),
                     call.output_rows("gradient.x"));
  }
};

}  // namespace

std::vector<attest_kernel> kernels() {
  return Kernels("linear.feature_map")
      .value<Value>("branch", {.layouts = Layouts::both, .tf32 = false})
      .gradient<Gradient>("branch", {.layouts = Layouts::both, .tf32 = false})
      .rows();
}

}  // namespace attest::cuda::linear::feature_map
