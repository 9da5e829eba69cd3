// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/tensors.hpp"

/// Tiles in shared memory and their products. A kernel is a template over the type T that tensors are stored in and the
/// type Factor that products take: float (true float), Tf32 or __nv_bfloat16 (tensor cores, summed in float).

namespace attest::cuda {

inline constexpr int kThreads = 128, kWarps = kThreads / 32;
inline constexpr int kTile = 64;         // rows of a tile, 16 for each warp; and the depth of a step of a product
inline constexpr int kWide = kTile + 8;  // columns of a tile of results: one more fragment, so that [values | 1] fits
inline constexpr int kFragments = kWide / 8;
inline constexpr int kPitch = kTile + 8,
                     kWidePitch = kWide + 8;  // in shared memory, so that rows begin in different banks

/// The type in which operands are stored in shared memory. Tf32 operands are stored as float and rounded when they are
/// loaded into fragments.
template <class Factor>
struct StoredAs {
  using Type = Factor;
};
template <>
struct StoredAs<Tf32> {
  using Type = float;
};
template <class Factor>
using Stored = typename StoredAs<Factor>::Type;

/// How many tiles of results cover `width` columns, and where one of them begins and how wide it is.
__host__ __device__ constexpr int wide_tiles(int width) {
  return width <= kWide ? 1 : (width - kWide + kTile - 1) / kTile + 1;
}
__device__ inline int wide_columns(int tile, int width) {
  return tile + 1 == wide_tiles(width) ? width - tile * kTile : kTile;
}

/// tile(r, x ...) = panel(row, column ...), 16 bytes of the tile; zeros where the row is not `there`.
template <class T, class Tile>
__device__ __forceinline__ void fill_piece(const Tile& tile, int r, int x, const Panel<T>& panel, bool there, int row,
                                           int column) {
  using Value = typename Tile::Value;
  constexpr int piece = 16 / static_cast<int>(sizeof(Value));
  if constexpr (std::is_same_v<T, Value>) {
    const T* from = there ? panel.template run<piece>(row, column) : nullptr;
    if (from) return copy_async<piece>(&tile(r, x), from);
  }
#pragma unroll 1
  for (int e = 0; e < piece; ++e) tile(r, x + e) = from_float<Value>(there ? panel(row, column + e) : 0.0f);
}

/// The pieces of rows that one of several workers has: always the same ones of every so many-th row. Their number
/// counts as the next power of two, so that nothing is divided; so is the number of workers one.
class Turns {
public:
  __device__ Turns(int pieces, int workers, int mine) : pieces_(pieces) {
    const int most = 31 - __clz(workers), needed = pieces > 1 ? 32 - __clz(pieces - 1) : 0;
    const int shift = needed < most ? needed : most;
    along_ = 1 << shift, down_ = workers >> shift;
    row_ = mine >> shift, piece_ = mine & (along_ - 1);
  }
  /// visit(row, piece)
  template <class Visit>
  __device__ __forceinline__ void each(int rows, Visit&& visit) const {
    if (piece_ >= pieces_) return;
    int piece = piece_;
#pragma unroll 1
    for (int row = row_; row < rows;) {
      visit(row, piece);
      piece += along_;
      if (piece >= pieces_) piece = piece_, row += down_;
    }
  }

private:
  int pieces_, down_, along_, row_, piece_;
};

/// visit(row, column) for all elements of rows, by the threads of a block: neighbouring lanes have neighbouring
/// columns.
template <class Visit>
__device__ __forceinline__ void each_element(int rows, int columns, Visit&& visit) {
  for (int row = warp(); row < rows; row += kWarps)
    for (int column = lane(); column < columns; column += 32) visit(row, column);
}

/// tile(r, begin + x) = panel(first + r, column + x) for r < count and x within the panel, else 0, where each_piece
/// calls its argument with (r, x). Elements that need no conversion are copied asynchronously: wait_for_tiles() ends
/// the copies.
template <class T, class Tile, class EachPiece>
__device__ __forceinline__ void fill_pieces(const Tile& tile, const Panel<T>& panel, int first, int count, int column,
                                            int begin, EachPiece&& each_piece) {
  using Value = typename Tile::Value;
  constexpr int piece = 16 / static_cast<int>(sizeof(Value));
  const T* from = nullptr;
  if constexpr (std::is_same_v<T, Value>) from = panel.template runs<piece>(first, column);
  const int within = from ? panel.stored() - column - piece : -1;
  const Index pitch = panel.pitch();
  each_piece([&](int r, int x) {
    if constexpr (std::is_same_v<T, Value>)
      if (r < count && x <= within) return copy_async<piece>(&tile(r, begin + x), from + r * pitch + x);
    fill_piece<T>(tile, r, begin + x, panel, r < count, first + r, column + x);
  });
}

/// Fills columns `begin` to begin + columns - 1 of the tile's first rows.
template <class T, class Tile>
__device__ void fill(const Tile& tile, const Panel<T>& panel, int first, int count, int rows, int column, int columns,
                     int begin = 0) {
  constexpr int piece = 16 / static_cast<int>(sizeof(typename Tile::Value));
  const Turns turns(columns / piece, kThreads, static_cast<int>(threadIdx.x));
  fill_pieces<T>(tile, panel, first, count, column, begin,
                 [&](auto&& visit) { turns.each(rows, [&](int r, int x) { visit(r, x * piece); }); });
}
/// Fills columns from `begin` on of all rows of a CoreTile: eight threads copy eight rows of one group of 8 columns,
/// whose 128 bytes are in all the banks.
inline __device__ Turns turns_of_core_matrices(int columns) {
  return {columns / 8, kThreads / 8, static_cast<int>(threadIdx.x) / 8};
}
template <class T>
__device__ void fill(const CoreTile<T>& tile, const Panel<T>& panel, int first, int count, int column,
                     const Turns& turns, int begin = 0) {
  const int row = static_cast<int>(threadIdx.x) % 8;
  fill_pieces<T>(tile, panel, first, count, column, begin,
                 [&](auto&& visit) { turns.each(tile.rows() / 8, [&](int r, int x) { visit(8 * r + row, 8 * x); }); });
}

/// Waits until all copies of fill() have landed, for every thread.
__device__ inline void wait_for_tiles() {
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
}

/// The same, and makes the tiles visible to products of the warpgroup.
__device__ inline void wait_for_tiles_of_products() {
  copy_async_commit();
  copy_async_wait<0>();
  fence_proxies();
  __syncthreads();
}

/// An element of a tile as float, whatever type the tile holds.
template <class Tile>
__device__ float element_at(const Tile& tile, int i, int j) {
  const typename Tile::Value x = tile(i, j);
  return to_float(x);
}

/// left(i, k) = tile(row + i, k)
template <class Tile>
struct Left {
  const Tile& tile;
  int row;
  __device__ float at(int i, int k) const { return element_at(tile, row + i, k); }
  template <class Factor>
  __device__ MatrixA<Factor> matrix(int k) const {
    return load_a<Factor>(tile, row, k);
  }
};
/// left(i, k) = tile(k, row + i)
template <class Tile>
struct LeftTransposed {
  const Tile& tile;
  int row;
  __device__ float at(int i, int k) const { return element_at(tile, k, row + i); }
  template <class Factor>
  __device__ MatrixA<Factor> matrix(int k) const {
    return load_a_transposed<Factor>(tile, k, row);
  }
};
/// right(k, j) = tile(row + k, j)
template <class Tile>
struct Right {
  const Tile& tile;
  int row;
  __device__ float at(int k, int j) const { return element_at(tile, row + k, j); }
  template <class Factor>
  __device__ MatrixB<Factor> matrix(int k, int column) const {
    return load_b<Factor>(tile, row + k, column);
  }
};
/// right(k, j) = tile(j, k)
template <class Tile>
struct RightTransposed {
  const Tile& tile;
  __device__ float at(int k, int j) const { return element_at(tile, j, k); }
  template <class Factor>
  __device__ MatrixB<Factor> matrix(int k, int column) const {
    return load_b_transposed<Factor>(tile, column, k);
  }
};

/// The accumulators of 16 rows of a product, held by one warp in registers: `Fragments` fragments of 8 columns, in
/// float. Functions that take a Strip by reference must be inlined. Accumulator says which elements a lane holds, for
/// products in true float too.
template <class Factor, int Fragments>
struct Strip {
  Accumulator fragments[Fragments];

  /// += left right, over `depth` (a multiple of 16) and the first `count` fragments.
  template <class L, class R>
  __device__ __forceinline__ void multiply_add(const L& left, const R& right, int depth, int count) {
    if constexpr (std::is_same_v<Factor, float>) {
      const int row = Accumulator::row(0), column = Accumulator::column(0);
      for (int k = 0; k < depth; ++k) {
        const float top = left.at(row, k), bottom = left.at(row + 8, k);
#pragma unroll
        for (int e = 0; e < Fragments; ++e) {
          if (e >= count) continue;
          const float first = right.at(k, 8 * e + column), second = right.at(k, 8 * e + column + 1);
          float* sum = fragments[e].values;
          sum[0] = __fmaf_rn(top, first, sum[0]);
          sum[1] = __fmaf_rn(top, second, sum[1]);
          sum[2] = __fmaf_rn(bottom, first, sum[2]);
          sum[3] = __fmaf_rn(bottom, second, sum[3]);
        }
      }
    } else {
      for (int k = 0; k < depth; k += matrix_depth<Factor>) {
        const MatrixA<Factor> a = left.template matrix<Factor>(k);
#pragma unroll
        for (int e = 0; e < Fragments; ++e)
          if (e < count) cuda::multiply_add(fragments[e], a, right.template matrix<Factor>(k, 8 * e));
      }
    }
  }

  /// visit(row of the strip, column, value) for this lane's elements of the first `count` fragments.
  template <class Visit>
  __device__ __forceinline__ void each(int count, Visit&& visit) {
#pragma unroll
    for (int e = 0; e < Fragments; ++e) {
      if (e >= count) continue;
#pragma unroll
      for (int i = 0; i < Accumulator::size; ++i)
        visit(Accumulator::row(i), 8 * e + Accumulator::column(i), fragments[e].values[i]);
    }
  }
  /// The same, with the element of another strip in the same place.
  template <class Visit>
  __device__ __forceinline__ void each_with(const Strip& other, int count, Visit&& visit) {
#pragma unroll
    for (int e = 0; e < Fragments; ++e) {
      if (e >= count) continue;
#pragma unroll
      for (int i = 0; i < Accumulator::size; ++i)
        visit(Accumulator::row(i), 8 * e + Accumulator::column(i), fragments[e].values[i],
              other.fragments[e].values[i]);
    }
  }
};

}  // namespace attest::cuda
