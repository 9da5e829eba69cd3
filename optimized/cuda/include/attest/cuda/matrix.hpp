// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/vector.hpp"

/// Products of small matrices by a warp: c (16x8, float) += a (16xK) b (Kx8), K = 16 for bf16 and f16, 8 for tf32.
/// Every lane holds a few elements of each matrix, as the PTX ISA lays them out (mma.sync.m16n8k16 and m16n8k8).

namespace attest::cuda {

/// A float whose significand has 10 bits after the point: the operand of a tf32 product.
struct Tf32 {
  float value;
};

template <class T>
inline constexpr int matrix_depth = sizeof(T) == 2 ? 16 : 8;

namespace detail {

// Where element i of a lane lies. `group` of four lanes = a row of a and c, a column of b.
__device__ inline int group() { return lane() / 4; }
__device__ inline int member() { return lane() % 4; }

template <class T>
__device__ int depth_of(int i) {  // along K, of the elements of one row of a or one column of b
  if constexpr (sizeof(T) == 2) {
    return i / 2 * 8 + member() * 2 + i % 2;
  } else {
    return i * 4 + member();
  }
}

}  // namespace detail

template <class T>
struct alignas(4) MatrixA {
  static constexpr int size = matrix_depth<T> / 2;
  T values[size];
  __device__ static int row(int i) { return detail::group() + (sizeof(T) == 2 ? i / 2 % 2 : i % 2) * 8; }
  __device__ static int depth(int i) { return detail::depth_of<T>(sizeof(T) == 2 ? i / 4 * 2 + i % 2 : i / 2); }
};

template <class T>
struct alignas(4) MatrixB {
  static constexpr int size = matrix_depth<T> / 4;
  T values[size];
  __device__ static int depth(int i) { return detail::depth_of<T>(i); }
  __device__ static int column(int) { return detail::group(); }
};

struct Accumulator {
  static constexpr int size = 4;
  float values[size] = {};
  __device__ static int row(int i) { return detail::group() + i / 2 * 8; }
  __device__ static int column(int i) { return detail::member() * 2 + i % 2; }
};

/// Float to the operand's type, to nearest. Tf32: ties away from zero, as the instruction cvt.rna does.
template <class T>
__device__ T to_operand(float x) {
  return from_float<T>(x);
}
template <>
__device__ inline Tf32 to_operand<Tf32>(float x) {
  return {round_to_tf32(x)};
}

/// The matrix whose elements are element(row, k): for elements that are computed, masked or rounded.
template <class T, class Element>
__device__ MatrixA<T> matrix_a(Element element) {
  MatrixA<T> a;
  for (int i = 0; i < a.size; ++i) a.values[i] = element(a.row(i), a.depth(i));
  return a;
}
/// ... element(k, column).
template <class T, class Element>
__device__ MatrixB<T> matrix_b(Element element) {
  MatrixB<T> b;
  for (int i = 0; i < b.size; ++i) b.values[i] = element(b.depth(i), b.column(i));
  return b;
}

namespace detail {

// A value of the operand's type is returned unchanged; a float is rounded to it.
template <class T>
__device__ T operand(T x) {
  return x;
}
template <class T>
  requires(!std::is_same_v<T, float>)
__device__ T operand(float x) {
  return to_operand<T>(x);
}

}  // namespace detail

/// a(i, k) = tile(row + i, depth + k). 16-bit elements are read in pairs: depth and the tile's rows must be even.
template <class T, class Tile>
__device__ MatrixA<T> load_a(const Tile& tile, int row, int depth) {
  if constexpr (std::is_same_v<T, typename Tile::Value> && sizeof(T) == 2) {
    MatrixA<T> a;
    for (int i = 0; i < a.size; i += 2) {
      const auto pair = load<Vector<T, 2>>(&tile(row + a.row(i), depth + a.depth(i)));
      a.values[i] = pair[0];
      a.values[i + 1] = pair[1];
    }
    return a;
  } else {
    return matrix_a<T>([&](int i, int k) -> T { return detail::operand<T>(tile(row + i, depth + k)); });
  }
}
/// a(i, k) = tile(depth + k, row + i)
template <class T, class Tile>
__device__ MatrixA<T> load_a_transposed(const Tile& tile, int depth, int row) {
  return matrix_a<T>([&](int i, int k) -> T { return detail::operand<T>(tile(depth + k, row + i)); });
}
/// b(k, j) = tile(depth + k, column + j)
template <class T, class Tile>
__device__ MatrixB<T> load_b(const Tile& tile, int depth, int column) {
  return matrix_b<T>([&](int k, int j) -> T { return detail::operand<T>(tile(depth + k, column + j)); });
}
/// b(k, j) = tile(column + j, depth + k). 16-bit elements are read in pairs: depth and the tile's rows must be even.
template <class T, class Tile>
__device__ MatrixB<T> load_b_transposed(const Tile& tile, int column, int depth) {
  if constexpr (std::is_same_v<T, typename Tile::Value> && sizeof(T) == 2) {
    MatrixB<T> b;
    for (int i = 0; i < b.size; i += 2) {
      const auto pair = load<Vector<T, 2>>(&tile(column + b.column(i), depth + b.depth(i)));
      b.values[i] = pair[0];
      b.values[i + 1] = pair[1];
    }
    return b;
  } else {
    return matrix_b<T>([&](int k, int j) -> T { return detail::operand<T>(tile(column + j, depth + k)); });
  }
}

/// A result as the next product's left operand, rounded: columns 0-7 from `left`, 8-15 from `right`. Nothing moves
/// between lanes.
template <class T>
__device__ MatrixA<T> operand_a(const Accumulator& left, const Accumulator& right) {
  static_assert(sizeof(T) == 2, "the layouts fit for 16-bit operands only");
  MatrixA<T> a;
  for (int i = 0; i < 4; ++i) {
    a.values[i] = to_operand<T>(left.values[i]);
    a.values[i + 4] = to_operand<T>(right.values[i]);
  }
  return a;
}

}  // namespace attest::cuda

#if defined(ATTEST_CUDA_EMULATION)
#include "attest/cuda/emulated/matrix.hpp"
#else
#include "attest/cuda/native/matrix.hpp"
#endif
