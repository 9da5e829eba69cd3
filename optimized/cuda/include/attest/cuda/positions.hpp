// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/elements.hpp"

/// What kernels of position encodings share. Angles reach 10^6 radians: they are formed in double, once for all heads.

namespace attest::cuda {

inline constexpr int kPositionRows = 32;  // of a block

/// The frequencies base^(-m / steps); steps may be 0 where the first is the only one.
struct Frequencies {
  double log2_base, steps;

  static Frequencies of(const Call& call, double steps);
  __device__ double at(int m) const { return m == 0 ? 1.0 : exp2(-(m / steps) * log2_base); }
};

/// Sines and cosines of consecutive positions, a row for each.
struct Waves {
  Frequencies frequencies;
  Index start, rows;
  int width;
  bool blocks;  // all sines first, then all cosines; else in turn

  /// In the workspace, for all sequences and heads.
  Rows table(Call& call) const;
};

/// y_i = x_i + table_(start + i). Without a table y is x.
template <class T>
__global__ __launch_bounds__(kThreads) void add_positions(Sequences tokens, Index start, Rows x, Rows table, Answers y) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const Panel<T> from(x, chunk, head), positions(table, {chunk.sequence, 0, start + chunk.first, chunk.count}, head);
  each_piece<T>(chunk, y.width, [&](int row, int column) {
    auto piece = Piece<T>::of(from, row, column);
    if (table.data) {
      const auto added = Piece<T>::of(positions, row, column);
      for (int i = 0; i < Piece<T>::size; ++i) piece.values[i] += added.values[i];
    }
    piece.store(y, chunk, head, row, column);
  });
}

}  // namespace attest::cuda
