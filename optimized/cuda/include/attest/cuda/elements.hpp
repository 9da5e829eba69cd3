// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/call.hpp"
#include "attest/cuda/tiles.hpp"

/// Vectors of neighbouring elements of a row for element-wise kernels: one access of 16 bytes where stride and
/// alignment allow it.

namespace attest::cuda {

template <class T>
struct Piece {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  float values[size];

  /// Elements `column`, `column` + 1, ... of a row of the chunk; 0 beyond the last column.
  __device__ static Piece of(const Panel<T>& panel, Index row, int column) {
    Piece piece;
    if (const T* from = panel.template run<size>(row, column)) {
      const auto together = load<Vector<T, size>>(from);
#pragma unroll
      for (int x = 0; x < size; ++x) piece.values[x] = to_float(together[x]);
    } else {
      for (int x = 0; x < size; ++x) piece.values[x] = panel(row, column + x);
    }
    return piece;
  }

  __device__ void store(const OutputRows& output, const Chunk& chunk, int head, Index row, int column) const {
    const Index at = output.place.at(chunk.sequence, head, chunk.origin + chunk.first + row, column);
    if (output.in_float) return store_apart(static_cast<float*>(output.data) + at, output, column);
    T* to = static_cast<T*>(output.data) + at;
    if (output.place.column == 1 && column + size <= output.width && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
      Vector<T, size> together;
#pragma unroll
      for (int x = 0; x < size; ++x) together[x] = from_float<T>(values[x]);
      cuda::store(to, together);
    } else {
      store_apart(to, output, column);
    }
  }

private:
  template <class Value>
  __device__ void store_apart(Value* to, const OutputRows& output, int column) const {
    for (int x = 0; x < size && column + x < output.width; ++x)
      to[x * output.place.column] = from_float<Value>(values[x]);
  }
};

/// visit(row of the chunk, column) for every piece of rows of this width, by the threads of a block.
template <class T, class Visit>
__device__ void each_piece(const Chunk& chunk, int width, Visit&& visit) {
  const Turns turns((width + Piece<T>::size - 1) / Piece<T>::size, kThreads, static_cast<int>(threadIdx.x));
  turns.each(chunk.count, [&](int row, int piece) { visit(row, piece * Piece<T>::size); });
}

/// A block for each chunk of each head.
inline Grid of_chunks(const Call& call, const Sequences& tokens) { return {tokens.slots(), 1, call.heads()}; }
/// Launches kernel(tokens, arguments...) with these blocks.
template <class... Parameters, class... Arguments>
void launch_by_chunks(Call& call, void (*kernel)(Sequences, Parameters...), const Sequences& tokens,
                      Arguments&&... arguments) {
  call.launch(kernel, of_chunks(call, tokens), kThreads, 0, tokens, std::forward<Arguments>(arguments)...);
}

}  // namespace attest::cuda
