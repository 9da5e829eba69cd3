// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/products.hpp"

/// All chunks at once: the total of each, their prefix sums in the order of the tokens (products.cu), then the outputs
/// of each from the state before it.

namespace attest::cuda {
namespace {

/// totals[slot] = sum of b_j c_j^T over the chunk's tokens. A block has 64 rows and up to 72 columns of one chunk's.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads, 1) void chunk_totals(Rows b, Rows c, Sequences tokens, State totals,
                                                            int row_tiles) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const Index slot = blockIdx.x;
  const int head = static_cast<int>(blockIdx.z), row = static_cast<int>(blockIdx.y) % row_tiles * kTile,
            tile = static_cast<int>(blockIdx.y) / row_tiles;
  const Chunk chunk = tokens.chunk_at(slot);
  const Span span{tile * kTile, wide_columns(tile, c.width()), false};
  Strip<Factor, kFragments> sum;
  outer<T, Factor>(sum, tiles, Panel<T>(b, chunk, head), Panel<T>(c, chunk, head), row, chunk.count, span);
  const StatePanel total(totals, static_cast<int>(slot), head);
  sum.each(span.fragments(), [&](int r, int column, float value) {
    const int x = row + strip_row() + r;
    if (x < totals.rows && column < span.columns) *total.at(x, span.first + column) = value;
  });
}

/// The output of up to 64 tokens of one chunk, in the columns of one tile.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads, 1) void chunk_outputs(Product p, State states, int row_tiles) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const Index slot = blockIdx.x / row_tiles;
  const int head = static_cast<int>(blockIdx.z), first = static_cast<int>(blockIdx.x % row_tiles) * kTile;
  const Chunk chunk = p.tokens.chunk_at(slot);
  if (first >= chunk.count) return;
  const int rows = chunk.count - first < kTile ? chunk.count - first : kTile;
  const Span span = Span::of(p, static_cast<int>(blockIdx.y));
  const Panel<T> a(p.a, chunk, head);
  Strip<Factor, kFragments> sum;
  const int number = p.order == Order::all ? chunk.sequence : static_cast<int>(slot);
  const StatePanel state(states, number, head);
  const Epilogue<T> epilogue(p, chunk, head);
  const auto stage = [&](int k, int depth) {
    fill_state(tiles.values, state, k, depth, span);
    return Right<typename Tiles<Factor>::Tile>{tiles.values, 0};
  };
  const auto last = [&](int x) { return state_at(state, a.width() - 1, x, span); };
  add_state<T, Factor>(sum, tiles, a, first, rows, span, stage, last);
  if (p.order == Order::past || p.order == Order::future)
    add_chunk<T, Factor>(sum, tiles, a, Panel<T>(p.b, chunk, head), Panel<T>(p.c, chunk, head), p.order, first, rows,
                         chunk.count, span);
  store_outputs<T, Factor>(sum, tiles, epilogue, first, rows, span);
}

/// One float state for each of `count` in the workspace.
State workspace_states(Call& call, Index count, int rows, int columns) {
  State states;
  states.rows = rows;
  states.columns = columns;
  const Index size = static_cast<Index>(rows) * columns;
  states.place = {.sequence = size * call.heads(), .head = size, .row = columns, .column = 1};
  states.matrix = call.workspace<float>(count * call.heads() * size);
  return states;
}

}  // namespace

template <class T, class Factor>
State states_of(Call& call, const Rows& b, const Rows& c, Order order, const Sequences& tokens, const State& initial,
                const State& final) {
  const int rows = b.width(), columns = c.width();
  const State states = workspace_states(call, tokens.slots(), rows, columns);
  const State whole = order == Order::all ? workspace_states(call, tokens.count, rows, columns)
                                          : State{.rows = rows, .columns = columns};
  const int row_tiles = static_cast<int>(divide_up(rows, kTile));
  call.launch(chunk_totals<T, Factor>, {tokens.slots(), row_tiles * wide_tiles(columns), call.heads()}, kThreads,
              Tiles<Factor>::bytes, b, c, tokens, states, row_tiles);
  add_up_states(call, states, tokens, order, initial, final, whole);
  return order == Order::all ? whole : states;
}

template <class T, class Factor>
void outputs_from_states(Call& call, const Product& product, const State& states) {
  const int row_tiles = static_cast<int>(divide_up(product.tokens.chunk, kTile));
  call.launch(chunk_outputs<T, Factor>, {product.tokens.slots() * row_tiles, Span::tiles(product), call.heads()},
              kThreads, Tiles<Factor>::bytes, product, states, row_tiles);
}

}  // namespace attest::cuda

#define ATTEST_CUDA_UNIT_chunks(T, Factor)                                                                    \
  template State states_of<T, Factor>(Call&, const Rows&, const Rows&, Order, const Sequences&, const State&, \
                                      const State&);                                                          \
  template void outputs_from_states<T, Factor>(Call&, const Product&, const State&);
