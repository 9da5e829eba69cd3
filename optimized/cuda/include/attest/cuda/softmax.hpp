// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/cuda/empty_row.hpp"
#include "attest/cuda/row.hpp"

/// Softmax of rows of logits, with or without one more logit of 0 whose weight is dropped, and its gradient.

namespace attest::cuda {

/// Operands of one launch. Optional tensors that a call lacks have no data.
struct Softmax {
  Sequences rows;  // "tokens" are rows
  Rows x{};
  Rows mask{};       // bytes: 0 hides
  bool one = false;  // 1 in the denominator
  EmptyRow empty = EmptyRow::zero;
  Rows grad_a{}, grad_lse{};
  OutputRows out{};  // a, or the gradient of x
  OutputRows lse{};

  static Softmax of(const Call& call, const Rows& x, const OutputRows& out) {
    return {.rows = call.sequences("r", "x", kWarps), .x = x, .mask = call.rows("mask"), .out = out};
  }
};

/// e^(x - maximum) summed over the logits of a row, and e^(x - maximum) weighted by numbers.
struct Exponentials {
  float maximum = -INFINITY, sum = 0, weighted = 0;

  /// e^(x - m); 1 where both are equal, -inf included.
  __device__ static float below(float x, float m) { return x == m ? 1.0f : expf(x - m); }

  __device__ void add(float x, float weight) {
    if (x > maximum) {
      const float shrink = below(maximum, x);
      maximum = x;
      sum *= shrink;
      weighted *= shrink;
    }
    const float e = below(x, maximum);
    sum += e;
    weighted = __fmaf_rn(e, weight, weighted);
  }
  /// Both lanes of a pair must get the same bits: nothing here may be contracted.
  __device__ void join(const Exponentials& other) {
    const float m = fmaxf(maximum, other.maximum), mine = below(maximum, m), its = below(other.maximum, m);
    maximum = m;
    sum = __fadd_rn(__fmul_rn(sum, mine), __fmul_rn(other.sum, its));
    weighted = __fadd_rn(__fmul_rn(weighted, mine), __fmul_rn(other.weighted, its));
  }
  __device__ void join_lanes() {
    for (int distance = 16; distance > 0; distance /= 2) {
      Exponentials other;
      other.maximum = __shfl_xor_sync(0xffffffffu, maximum, distance);
      other.sum = __shfl_xor_sync(0xffffffffu, sum, distance);
      other.weighted = __shfl_xor_sync(0xffffffffu, weighted, distance);
      join(other);
    }
  }
  __device__ float weight_of(float x) const { return __fdiv_rn(below(x, maximum), sum); }
};

/// The visible entries of a row.
struct Visible {
  const std::uint8_t* bytes;  // null where all is visible
  Index stride;
  int width;

  __device__ static Visible of(const Softmax& p, const Chunk& chunk, int head, int row) {
    const auto* all = static_cast<const std::uint8_t*>(p.mask.data);
    return {all ? all + p.mask.place.at(chunk.sequence, head, chunk.first + row, 0) : nullptr, p.mask.place.column,
            p.x.stored};
  }
  __device__ bool operator()(int column) const { return column < width && (!bytes || bytes[column * stride]); }
};

/// The sums over what is visible in a row: one pass with a running maximum. visit(sums, column) adds a piece to those
/// of its lane.
template <class T, class Visit>
__device__ Exponentials exponentials(int width, bool one, Visit&& visit) {
  Exponentials sums;
  if (one && lane() == 0) sums.add(0, 0);
  each_piece_of_row<T>(width, [&](int column) { visit(sums, column); });
  __syncwarp();
  sums.join_lanes();
  return sums;
}

template <class T>
__global__ __launch_bounds__(kThreads) void softmax_weights(Softmax p) {
  const Chunk chunk = p.rows.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp(), width = p.x.stored;
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head);
  const Visible visible = Visible::of(p, chunk, head, row);
  const auto sums = exponentials<T>(width, p.one, [&](Exponentials& mine, int column) {
    const auto logits = Piece<T>::of(x, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      if (visible(column + i)) mine.add(logits.values[i], 0);
  });
  const bool empty = sums.sum == 0;
  float hidden = 0;
  if (empty && p.empty == EmptyRow::mean) hidden = __fdiv_rn(1.0f, static_cast<float>(width));
  if (empty && p.empty == EmptyRow::nan) hidden = __int_as_float(0x7fc00000);
  each_piece_of_row<T>(width, [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = visible(column + i) ? sums.weight_of(piece.values[i]) : hidden;
    piece.store(p.out, chunk, head, row, column);
  });
  if (p.lse.data && lane() == 0)
    static_cast<T*>(p.lse.data)[p.lse.place.at(chunk.sequence, head, 0, chunk.first + row)] =
        from_float<T>(empty ? sums.maximum : sums.maximum + logf(sums.sum));
}

/// grad_x_j = a_j (grad_a_j - sum_t a_t grad_a_t + grad_lse)
template <class T>
__global__ __launch_bounds__(kThreads) void softmax_gradient(Softmax p) {
  const Chunk chunk = p.rows.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp(), width = p.x.stored;
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head), grad_a(p.grad_a, chunk, head);
  const Visible visible = Visible::of(p, chunk, head, row);
  const auto sums = exponentials<T>(width, p.one, [&](Exponentials& mine, int column) {
    const auto logits = Piece<T>::of(x, row, column), cotangent = Piece<T>::of(grad_a, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      if (visible(column + i)) mine.add(logits.values[i], cotangent.values[i]);
  });
  const float mean = sums.sum == 0 ? 0.0f : __fdiv_rn(sums.weighted, sums.sum);
  float by_lse = 0;
  if (p.grad_lse.data)
    by_lse = to_float(
        static_cast<const T*>(p.grad_lse.data)[p.grad_lse.place.at(chunk.sequence, head, 0, chunk.first + row)]);
  each_piece_of_row<T>(width, [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
    const auto cotangent = Piece<T>::of(grad_a, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] =
          visible(column + i) ? sums.weight_of(piece.values[i]) * (cotangent.values[i] - mean + by_lse) : 0.0f;
    piece.store(p.out, chunk, head, row, column);
  });
}

}  // namespace attest::cuda
