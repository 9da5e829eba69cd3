// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/elements.hpp"

/// Tables and kernels that position encodings share. Angles reach 10^6 radians: they are formed in double, once for all
/// heads.

namespace attest::cuda {

inline constexpr int kPositionRows = 32;  // of a block

/// The frequencies base^(-m / steps); steps may be 0 where the first is the only one.
struct Frequencies {
  double log2_base, steps;

  static Frequencies of(const Call& call, double steps);
  __device__ double at(int m) const { return m == 0 ? 1.0 : exp2(-(m / steps) * log2_base); }
};

/// Sines and cosines of consecutive positions, a row for each.
struct Sinusoids {
  Frequencies frequencies;
  Index start, rows;
  int width;
  bool blocks;  // all sines first, then all cosines; else in turn

  /// In the workspace, for all sequences and heads.
  Rows table(Call& call) const;
};

/// Rotation by angles position times frequency, and which pairs of elements of a row it rotates.
struct Rotations {
  Frequencies frequencies;
  Numbers<const Index> positions{};
  Index start = 0;      // of the first token, where no positions are given
  bool halves = false;  // pairs (m, d/2 + m); else (2m, 2m + 1)

  /// Cosines, then sines of every token's angles in the workspace, for all heads.
  Rows table(Call& call, const Sequences& tokens, int width) const;
};

/// (a, b) rotated by an angle.
__device__ inline void rotate_pair(float& a, float& b, float cosine, float sine) {
  const float rotated = __fmaf_rn(a, cosine, -(b * sine));
  b = __fmaf_rn(a, sine, b * cosine);
  a = rotated;
}

/// Every pair rotated by its angle (direction 1) or back (-1). Interleaved pairs lie in one vector, pairs of halves in
/// two.
template <class T>
__global__ __launch_bounds__(kThreads) void rotate(Sequences tokens, bool halves, float direction, Rows table, Rows x,
                                                   OutputRows y) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), pairs = y.width / 2;
  const Panel<T> from(x, chunk, head), by(table, chunk, head);
  if (!halves) {
    each_piece<T>(chunk, y.width, [&](int row, int column) {
      auto piece = Piece<T>::of(from, row, column);
#pragma unroll
      for (int i = 0; i < Piece<T>::size; i += 2) {
        const int m = (column + i) / 2;
        if (m < pairs) rotate_pair(piece.values[i], piece.values[i + 1], by(row, m), direction * by(row, pairs + m));
      }
      piece.store(y, chunk, head, row, column);
    });
    return;
  }
  OutputRows first = y;
  first.width = pairs;
  each_piece<T>(chunk, pairs, [&](int row, int column) {
    auto a = Piece<T>::of(from, row, column), b = Piece<T>::of(from, row, column + pairs);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      if (column + i < pairs)
        rotate_pair(a.values[i], b.values[i], by(row, column + i), direction * by(row, pairs + column + i));
    a.store(first, chunk, head, row, column);
    b.store(y, chunk, head, row, column + pairs);
  });
}

/// y_i = x_i + table_(start + i). Without a table y is x.
template <class T>
__global__ __launch_bounds__(kThreads) void add_positions(Sequences tokens, Index start, Rows x, Rows table,
                                                          OutputRows y) {
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
