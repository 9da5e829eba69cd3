// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/linear.hpp"
#include "attest/cuda/tiles.hpp"

/// Tile operations of linear attention: scores inside a chunk, products with a state, and a chunk's contribution to a
/// state.

namespace attest::cuda {

/// The output columns of a block. With a division the denominator is column 0 of one more fragment of 8 columns in
/// front of them.
struct Span {
  int first, columns;
  bool divides;

  __host__ __device__ static int tiles(const Product& p) {
    return p.division.wanted ? static_cast<int>(divide_up(p.output.width, kTile)) : wide_tiles(p.output.width);
  }
  __device__ static Span of(const Product& p, int tile) {
    if (!p.division.wanted) return {tile * kTile, wide_columns(tile, p.output.width), false};
    const int rest = p.output.width - tile * kTile;
    return {tile * kTile, rest < kTile ? rest : kTile, true};
  }
  __device__ int begin() const { return divides ? 8 : 0; }  // of the values, in tiles and strips
  __device__ int fragments() const { return round_up(columns, 8) / 8 + divides; }
  /// The column that a tile's column has of a state [.. | z] of `all` columns; -1 for none.
  __device__ int column_of(int x, int all) const {
    if (x < begin()) return x == 0 ? all - 1 : -1;
    return x - begin() < columns ? first + x - begin() : -1;
  }
  /// The tile's column of ones beside c; -1 for none.
  template <class T>
  __device__ int ones(const Panel<T>& c) const {
    if (divides) return 0;
    return c.ones() && c.width() - first <= columns ? c.width() - 1 - first : -1;
  }
};

template <class Factor>
struct Tiles {
  using Tile = SharedView<Stored<Factor>, 2>;
  /// In the place of left and right: before it is written, and before they are again, the block waits.
  SharedView<float, 2> results;
  Tile left, right, weights, values;

  __device__ explicit Tiles(DynamicShared& memory)
      : results(DynamicShared(memory).take<float>(kTile, kPitch)),
        left(memory.take<Stored<Factor>>(kTile, kPitch)),
        right(memory.take<Stored<Factor>>(kTile, kPitch)),
        weights(memory.take<Stored<Factor>>(kTile, kPitch)),
        values(memory.take<Stored<Factor>>(kTile, kWidePitch)) {
    static_assert(kWide <= kPitch && sizeof(float) <= 2 * sizeof(Stored<Factor>));
  }

  static constexpr std::size_t bytes = sizeof(Stored<Factor>) * kTile * (3 * kPitch + kWidePitch);
};

/// The first row of this warp in a tile, and whether the tile has rows for it.
__device__ inline int strip_row() { return warp() * 16; }
__device__ inline bool strip_is_in(int rows) { return strip_row() < rows; }

/// values(r, .) = the span's columns of c, and 1 for the denominator.
template <class T, class Tile>
__device__ void fill_values(const Tile& tile, const Panel<T>& c, int first, int count, int rows, const Span& span) {
  fill<T>(tile, c, first, count, rows, span.first, round_up(span.columns, 8), span.begin());
  if (!span.divides) return;
  for (int i = static_cast<int>(threadIdx.x); i < rows * 8; i += kThreads) {
    const int r = i / 8, x = i % 8;
    const bool counts = x == 0 && r < count && !c.hidden(first + r);
    tile(r, x) = from_float<typename Tile::Value>(counts ? 1.0f : 0.0f);
  }
}

/// A state's element in column x of the span's tile.
__device__ inline float state_at(const StatePanel& state, int row, int x, const Span& span) {
  const int column = span.column_of(x, state.columns());
  return column >= 0 && row < state.rows() ? state(row, column) : 0.0f;
}

/// tile(r, .) = rows first + r of a state, in the span's columns.
template <class Tile>
__device__ void fill_state(const Tile& tile, const StatePanel& state, int first, int rows, const Span& span) {
  each_element(rows, 8 * span.fragments(), [&](int r, int x) {
    tile(r, x) = from_float<typename Tile::Value>(state_at(state, first + r, x, span));
  });
}

/// add(depth, fragments of keys) for every tile of columns of a and b: left(i, .) = a_i and right(j, .) = b_j, for up
/// to 64 rows of a from `first` on and of b from `first_key` on.
template <class T, class Factor, class Add>
__device__ __forceinline__ void each_depth(const Tiles<Factor>& tiles, const Panel<T>& a, const Panel<T>& b, int first,
                                           int rows, int first_key, int keys, Add&& add) {
  const int padded = round_up(keys, 16);
  for (int k = 0; k < a.width(); k += kTile) {
    const int depth = a.width() - k < kTile ? round_up(a.width() - k, 16) : kTile;
    fill<T>(tiles.left, a, first, rows, round_up(rows, 16), k, depth);
    fill<T>(tiles.right, b, first_key, keys, padded, k, depth);
    wait_for_tiles();
    if (strip_is_in(rows)) add(depth, padded / 8);
    __syncthreads();
  }
}

/// scores(i, j) += a_i . b_j
template <class T, class Factor>
__device__ __forceinline__ void add_scores(Strip<Factor, kTile / 8>& scores, const Tiles<Factor>& tiles,
                                           const Panel<T>& a, const Panel<T>& b, int first, int rows, int first_key,
                                           int keys) {
  each_depth<T, Factor>(tiles, a, b, first, rows, first_key, keys, [&](int depth, int fragments) {
    scores.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.left, strip_row()},
                        RightTransposed<typename Tiles<Factor>::Tile>{tiles.right}, depth, fragments);
  });
}

/// sum += (a_i . b_j) c_j over the tokens j of the chunk that the order lets i see. `rows` tokens i from `first` on.
template <class T, class Factor>
__device__ __forceinline__ void add_chunk(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles, const Panel<T>& a,
                                          const Panel<T>& b, const Panel<T>& c, Order order, int first, int rows,
                                          int count, const Span& span) {
  const int begin = order == Order::past ? 0 : first / kTile * kTile, end = order == Order::past ? first + rows : count;
  for (int j = begin; j < end; j += kTile) {
    const int keys = end - j < kTile ? end - j : kTile, padded = round_up(keys, 16);
    Strip<Factor, kTile / 8> scores;
    add_scores<T, Factor>(scores, tiles, a, b, first, rows, j, keys);
    if (strip_is_in(rows))
      scores.each(padded / 8, [&](int row, int key, float score) {
        const int i = first + strip_row() + row;
        const bool seen = order == Order::past ? j + key <= i : j + key >= i;
        tiles.weights(strip_row() + row, key) = from_float<Stored<Factor>>(seen ? score : 0.0f);
      });
    fill_values<T>(tiles.values, c, j, keys, padded, span);
    wait_for_tiles();
    if (strip_is_in(rows))
      sum.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.weights, strip_row()},
                       Right<typename Tiles<Factor>::Tile>{tiles.values, 0}, padded, span.fragments());
    __syncthreads();
  }
}

/// sum += state^T a_i. stage(k, depth) fills rows k ... of the state into a tile and returns them as right operand.
/// last(x) is the state's last row, in columns of the tile: where a has a column of ones it is added without a product,
/// which would round it.
template <class T, class Factor, class Stage, class Last>
__device__ __forceinline__ void add_state(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles, const Panel<T>& a,
                                          int first, int rows, const Span& span, Stage&& stage, Last&& last) {
  const Panel<T> factors = a.without_ones();
  for (int k = 0; k < factors.width(); k += kTile) {
    const int depth = factors.width() - k < kTile ? round_up(factors.width() - k, 16) : kTile;
    fill<T>(tiles.left, factors, first, rows, round_up(rows, 16), k, depth);
    const auto state = stage(k, depth);
    wait_for_tiles();
    if (strip_is_in(rows))
      sum.multiply_add(Left<typename Tiles<Factor>::Tile>{tiles.left, strip_row()}, state, depth, span.fragments());
    __syncthreads();
  }
  if (!a.ones()) return;
  sum.each(span.fragments(), [&](int row, int x, float& value) {
    const int i = strip_row() + row;
    if (i < rows && !a.hidden(first + i)) value += last(x);
  });
}

/// The column of ones of `sum` = sum of b_j, in true float: a product with 1 would round its operands.
template <class T, class Factor>
__device__ __forceinline__ void sum_alone(Strip<Factor, kFragments>& sum, const Panel<T>& b, const Panel<T>& c, int row,
                                          int count, const Span& span) {
  const int ones = span.ones(c);
  float total = 0;  // half a warp has every second token
#pragma unroll 4
  for (int j = lane() / 16; j < count; j += 2) total += c.hidden(j) ? 0.0f : b(j, row + strip_row() + lane() % 16);
  total += __shfl_xor_sync(0xffffffffu, total, 16);
  const float top = __shfl_sync(0xffffffffu, total, Accumulator::row(0)),
              bottom = __shfl_sync(0xffffffffu, total, Accumulator::row(0) + 8);
  sum.each(span.fragments(), [&](int r, int column, float& value) {
    if (column == ones) value = r < 8 ? top : bottom;
  });
}

/// sum = b_j c_j^T over the tokens of a chunk, for 64 columns of b from `row` on.
template <class T, class Factor>
__device__ __forceinline__ void outer(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles, const Panel<T>& b,
                                      const Panel<T>& c, int row, int count, const Span& span) {
  const int rows = b.width() - row < kTile ? b.width() - row : kTile;
  for (int j = 0; j < count; j += kTile) {
    const int tokens = count - j < kTile ? count - j : kTile, padded = round_up(tokens, 16);
    fill<T>(tiles.left, b, j, tokens, padded, row, round_up(rows, 16));
    fill_values<T>(tiles.values, c, j, tokens, padded, span);
    wait_for_tiles();
    if (strip_is_in(rows))
      sum.multiply_add(LeftTransposed<typename Tiles<Factor>::Tile>{tiles.left, strip_row()},
                       Right<typename Tiles<Factor>::Tile>{tiles.values, 0}, padded, span.fragments());
    __syncthreads();
  }
  if constexpr (!std::is_same_v<Factor, float>)
    if (span.ones(c) >= 0 && !b.is_narrow() && strip_is_in(rows)) sum_alone<T, Factor>(sum, b, c, row, count, span);
}

/// row(r) gives what each element (column, value) of row r is visited with, for the first rows and columns of the
/// strips of all warps: row after row, neighbouring columns in neighbouring lanes. Through shared memory, since what is
/// done with an element of a strip stands in the code as often as a lane has elements. All threads of a block call it.
template <class Factor, class Row>
__device__ __forceinline__ void each_by_rows(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles, int rows,
                                             int columns, Row&& row) {
  if (strip_is_in(rows)) {
    sum.each(kFragments, [&](int r, int x, float value) { tiles.results(strip_row() + r, x) = value; });
    __syncwarp();
    const int end = rows < strip_row() + 16 ? rows : strip_row() + 16;
#pragma unroll 1
    for (int r = strip_row(); r < end; ++r) {
      const auto visit = row(r);
#pragma unroll 1
      for (int x = lane(); x < columns; x += 32) visit(x, tiles.results(r, x));
    }
  }
  __syncthreads();
}

/// The outputs of a strip: those of row r are the epilogue's row first + r.
template <class T, class Factor>
__device__ __forceinline__ void store_outputs(Strip<Factor, kFragments>& sum, const Tiles<Factor>& tiles,
                                              const Epilogue<T>& epilogue, Index first, int rows, const Span& span) {
  each_by_rows(sum, tiles, rows, span.begin() + span.columns, [&](int r) {
    const Divisor by = epilogue.divisor(epilogue.divides() ? static_cast<float>(tiles.results(r, 0)) : 1.0f);
    return [=, &epilogue](int x, float value) {
      if (x >= span.begin()) epilogue.store(first + r, span.first + x - span.begin(), value, by);
    };
  });
}

}  // namespace attest::cuda
