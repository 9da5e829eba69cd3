// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/row.hpp"

/// Layer normalisation of every token, and back: a warp for each.

namespace attest::cuda {

/// The mean in two parts, its rounded value and the rest, and 1 / sqrt(variance + eps).
struct Moments {
  float mean, rest, inverse;

  /// Two passes: the mean, then the differences of x from it. Their sum corrects both moments (Chan, Golub and LeVeque
  /// 1983, eq. 1.7).
  template <class T>
  __device__ static Moments of(const Panel<T>& x, int row, float eps) {
    const int d = x.width();
    const float count = static_cast<float>(d);
    float sum = 0;
    each_of_row<T>(d, row, [&](int, float value) { sum += value; }, x);
    __syncwarp();
    const float mean = __fdiv_rn(warp_sum(sum), count);
    float left = 0, squares = 0;
    each_of_row<T>(
        d, row,
        [&](int, float value) {
          const float off = value - mean;
          left += off;
          squares = __fmaf_rn(off, off, squares);
        },
        x);
    __syncwarp();
    left = warp_sum(left);
    squares = warp_sum(squares);
    const float rest = __fdiv_rn(left, count),
                variance = fmaxf(0.0f, __fdiv_rn(__fmaf_rn(-left, rest, squares), count));
    return {mean, rest, __fdiv_rn(1.0f, __fsqrt_rn(variance + eps))};
  }
  __device__ float normalised(float x) const { return (x - mean - rest) * inverse; }
};

/// A row of gamma or beta, or `otherwise` where it is not given.
template <class T>
class Feature {
public:
  __device__ Feature(const Rows& rows, const Chunk& chunk, int head, float otherwise)
      : panel_(rows, {chunk.sequence, 0, 0, 1}, head), given_(rows.data != nullptr), otherwise_(otherwise) {}
  __device__ float operator()(int column) const { return given_ ? panel_(0, column) : otherwise_; }

private:
  Panel<T> panel_;
  bool given_;
  float otherwise_;
};

struct Normalisation {
  Sequences tokens{};  // as many in a block as it has warps
  float eps = 0;
  Rows x{}, gamma{}, beta{}, grad_y{};
  OutputRows out{};      // y, or the gradient of x
  OutputRows moments{};  // of every token, where they have a width: for the sums over tokens
};

/// y = gamma (x - mu) / sqrt(v + eps) + beta: a warp for each token.
template <class T>
__global__ __launch_bounds__(kThreads) void normalise(Normalisation p) {
  const Chunk chunk = p.tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp();
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head);
  const Feature<T> gamma(p.gamma, chunk, head, 1), beta(p.beta, chunk, head, 0);
  const auto moments = Moments::of(x, row, p.eps);
  each_piece_of_row<T>(x.width(), [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = __fmaf_rn(gamma(column + i), moments.normalised(piece.values[i]), beta(column + i));
    piece.store(p.out, chunk, head, row, column);
  });
}

/// grad_x = (g - mean(g) - n mean(g n)) / sqrt(v + eps), g = gamma grad_y and n the normalised token: a warp for each
/// token.
template <class T>
__global__ __launch_bounds__(kThreads) void token_gradients(Normalisation p) {
  const Chunk chunk = p.tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp();
  if (row >= chunk.count) return;
  const Panel<T> x(p.x, chunk, head), grad_y(p.grad_y, chunk, head);
  const Feature<T> gamma(p.gamma, chunk, head, 1);
  const auto moments = Moments::of(x, row, p.eps);
  float sum = 0, along = 0;
  each_of_row<T>(
      x.width(), row,
      [&](int column, float value, float cotangent) {
        const float g = gamma(column) * cotangent;
        sum += g;
        along = __fmaf_rn(g, moments.normalised(value), along);
      },
      x, grad_y);
  __syncwarp();
  const float count = static_cast<float>(x.width()), mean = __fdiv_rn(warp_sum(sum), count),
              mean_along = __fdiv_rn(warp_sum(along), count);
  each_piece_of_row<T>(x.width(), [&](int column) {
    auto piece = Piece<T>::of(x, row, column);
    const auto cotangent = Piece<T>::of(grad_y, row, column);
#pragma unroll
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = moments.inverse * (__fmaf_rn(gamma(column + i), cotangent.values[i], -mean) -
                                           moments.normalised(piece.values[i]) * mean_along);
    piece.store(p.out, chunk, head, row, column);
  });
  if (p.moments.width == 0) return;
  float* to = static_cast<float*>(p.moments.data) +
              p.moments.place.at(chunk.sequence, head, chunk.origin + chunk.first + row, 0);
  if (lane() == 0) to[0] = moments.mean;
  if (lane() == 1) to[1] = moments.rest;
  if (lane() == 2) to[2] = moments.inverse;
}

}  // namespace attest::cuda
