// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/device.hpp"

/// Correct kernels, written once: kernels.cpp runs them, nvcc compiles them in kernels.cu.

namespace attest::cuda::kernels {

/// Every name that kernels may use: kernels.cu.
void run_vocabulary(Stream stream);

/// Sum over a block by a tree in shared memory. `Barriers` = false leaves out the barriers between the steps.
template <int Threads, bool Barriers = true>
__global__ void block_sum(const float* x, float* sum, int n) {
  __shared__ Shared<float, Threads> partial;
  const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x) * Threads + t;
  partial(t) = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = Threads / 2; stride > 0; stride /= 2) {
    if (t < stride) partial(t) += partial(t + stride);
    if constexpr (Barriers) __syncthreads();
  }
  if (t == 0) sum[blockIdx.x] = partial(0);
}

/// Inclusive sums of each `Group` elements, a power of two up to 32.
template <int Group>
__global__ void warp_scan(const float* x, float* sums, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float value = i < n ? x[i] : 0.0f;
  for (unsigned distance = 1; distance < Group; distance *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, value, distance, Group);
    if (lane() % Group >= static_cast<int>(distance)) value += before;
  }
  if (i < n) sums[i] = value;
}

/// c (m x n) = a (m x k) b (n x k)^T by one warp per 16x8 tile; the next depth is fetched while this one is multiplied.
/// k is a multiple of 16, rows beyond m and n are filled with zeros.
template <class T>
__global__ void product(const T* a, const T* b, float* c, int m, int n, int k) {
  constexpr int Depth = 16, Piece = 16 / static_cast<int>(sizeof(T)), Pieces = Depth / Piece;
  using Operand = std::conditional_t<std::is_same_v<T, float>, Tf32, T>;
  DynamicShared memory;
  auto left = memory.take<T>(2, 16, Depth), right = memory.take<T>(2, 8, Depth);
  const int row = static_cast<int>(blockIdx.y) * 16, column = static_cast<int>(blockIdx.x) * 8;
  const auto fetch = [&](int stage, int depth) {
    for (int i = lane(); i < 16 * Pieces; i += warpSize) {
      const int r = i / Pieces, p = i % Pieces * Piece;
      const bool inside = row + r < m;
      copy_async<Piece>(&left(stage, r, p), inside ? a + (row + r) * k + depth + p : a, inside ? Piece : 0);
    }
    for (int i = lane(); i < 8 * Pieces; i += warpSize) {
      const int r = i / Pieces, p = i % Pieces * Piece;
      const bool inside = column + r < n;
      copy_async<Piece>(&right(stage, r, p), inside ? b + (column + r) * k + depth + p : b, inside ? Piece : 0);
    }
    copy_async_commit();
  };
  Accumulator sum;
  fetch(0, 0);
  for (int depth = 0, stage = 0; depth < k; depth += Depth, stage ^= 1) {
    if (depth + Depth < k) {
      fetch(stage ^ 1, depth + Depth);
      copy_async_wait<1>();
    } else {
      copy_async_wait<0>();
    }
    __syncwarp();
    for (int inner = 0; inner < Depth; inner += matrix_depth<Operand>) {
      const auto x = matrix_a<Operand>(
          [&](int i, int j) -> Operand { return detail::operand<Operand>(left(stage, i, inner + j)); });
      const auto y = matrix_b<Operand>(
          [&](int j, int i) -> Operand { return detail::operand<Operand>(right(stage, i, inner + j)); });
      multiply_add(sum, x, y);
    }
    __syncwarp();
  }
  for (int i = 0; i < sum.size; ++i) {
    if (row + sum.row(i) < m && column + sum.column(i) < n)
      c[(row + sum.row(i)) * n + column + sum.column(i)] = sum.values[i];
  }
}

/// c (64 x 8 Fragments) = a (64 x depth) b by one warpgroup, b given as [8 Fragments, depth] (Major::k) or as [depth, 8
/// Fragments] (Major::mn).
template <int Fragments, Major major, bool InRegisters>
__global__ __launch_bounds__(128) void warpgroup_product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c,
                                                         int depth) {
  constexpr int Columns = 8 * Fragments;
  DynamicShared memory;
  const CoreTile<__nv_bfloat16> left(memory, 64, depth),
      right(memory, major == Major::k ? Columns : depth, major == Major::k ? depth : Columns);
  const int columns = major == Major::k ? depth : Columns, t = static_cast<int>(threadIdx.x);
  for (int i = t; i < 64 * depth; i += 128) left(i / depth, i % depth) = a[i];
  for (int i = t; i < Columns * depth; i += 128) right(i / columns, i % columns) = b[i];
  fence_proxies();
  __syncthreads();
  Accumulator sum[Fragments];
  for (int k = 0; k < depth; k += 16) {
    PackedA rows[1];
    if constexpr (InRegisters) rows[0] = packed(load_a<__nv_bfloat16>(left, 16 * warp(), k));
    const auto product = [&](auto&& factor) {
      if constexpr (major == Major::k)
        multiply_add(sum, factor, by_rows(right, 0, k));
      else
        multiply_add(sum, factor, by_columns(right, k, 0));
    };
    if constexpr (InRegisters) {
      warpgroup_fence(sum, rows);
      product(rows[0]);
    } else {
      warpgroup_fence(sum);
      product(by_rows(left, 0, k));
    }
    warpgroup_commit();
    if constexpr (InRegisters)
      warpgroup_wait(sum, rows);
    else
      warpgroup_wait(sum);
  }
  for (int e = 0; e < Fragments; ++e)
    for (int i = 0; i < Accumulator::size; ++i)
      c[(16 * warp() + Accumulator::row(i)) * Columns + 8 * e + Accumulator::column(i)] = sum[e].values[i];
}

/// A float matrix product by 16x16 threads, with padded tiles and vector access.
template <int Tile>
__global__ void tiled_product(const float* a, const float* b, float* c, int n) {
  __shared__ Shared<float, Tile, Tile> left;
  __shared__ Shared<float, Tile, Tile + 1> right;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * Tile + y, column = static_cast<int>(blockIdx.x) * Tile + x;
  float sum = 0;
  for (int t = 0; t < n; t += Tile) {
    if (x < Tile / 4) store(&left(y, 4 * x), load<float4>(a + row * n + t + 4 * x));
    right(x, y) = b[(t + y) * n + column];
    __syncthreads();
    for (int k = 0; k < Tile; ++k) sum = __fmaf_rn(left(y, k), right(x, k), sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

}  // namespace attest::cuda::kernels
