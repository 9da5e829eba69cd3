// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/dense.hpp"

#include "attest/cuda/products.hpp"

/// Dense layers: 64 tokens times up to 72 columns of the weights in a block, and the sums over tokens that their
/// gradients are.

namespace attest::cuda {
namespace {

template <class T, class Factor>
__global__ __launch_bounds__(kThreads, 1) void layer(Dense p) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const Chunk chunk = p.tokens.chunk_at(blockIdx.x);
  if (chunk.count == 0) return;
  const int head = static_cast<int>(blockIdx.z), tile = static_cast<int>(blockIdx.y);
  const Span span{tile * kTile, wide_columns(tile, p.y.width), false};

  Strip<Factor, kFragments> sum, share;
  for (int h = head * p.summed; h < (head + 1) * p.summed; ++h) {
    const Panel<T> x(p.x, chunk, h), w(p.w.rows, {chunk.sequence, 0, 0, p.w.height}, h);
    const auto stage = [&](int k, int depth) {
      fill_values<T>(tiles.values, w, k, p.w.height - k < depth ? p.w.height - k : depth, depth, span);
      return Right<typename Tiles<Factor>::Tile>{tiles.values, 0};
    };
    add_state<T, Factor>(share, tiles, x, 0, chunk.count, span, stage, [](int) { return 0.0f; });
    if (!p.one_after_other && h + 1 < (head + 1) * p.summed) continue;
    sum.each_with(share, span.fragments(), [](int, int, float& total, float mine) { total += mine; });
    share = {};
  }

  const Product of_sums{.output = p.y, .sloped = p.sloped, .addend = p.addend};
  const Epilogue<T> epilogue(of_sums, chunk, head);
  const Panel<T> bias(p.bias, {chunk.sequence, 0, 0, 1}, head);
  each_by_rows(sum, tiles, chunk.count, span.columns, [&](int i) {
    return [=, &p, &epilogue, &bias](int x, float value) {
      const int column = span.first + x;
      if (column - (chunk.first + i) > p.last_diagonal)
        return p.y.store<T>(p.y.place.at(chunk.sequence, head, chunk.origin + chunk.first + i, column), 0);
      value *= p.factor;
      if (p.bias.data) value += bias.raw(0, column);
      epilogue.store(i, column, value);
    };
  });
}

/// A block has 64 columns of grad_y and up to 72 of [x | 1], and takes the tokens of its sequence in order.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads, 1) void sums_over_tokens(DenseGradient p, int row_tiles) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const int first = static_cast<int>(blockIdx.y) % row_tiles * kTile, tile = static_cast<int>(blockIdx.y) / row_tiles;
  const Chunk whole{sequence, p.tokens.origin_of(sequence), 0, static_cast<int>(p.tokens.length_of(sequence))};
  const Panel<T> x(p.x, whole, head), cotangent(p.grad_y, whole, head);
  const Span span{tile * kTile, wide_columns(tile, x.width()), false};
  Strip<Factor, kFragments> sum;
  outer<T, Factor>(sum, tiles, cotangent, x, first, whole.count, span);

  sum.each(span.fragments(), [&](int row, int column, float value) {
    const int from = span.first + column, to = first + strip_row() + row;
    if (column >= span.columns || to >= cotangent.width()) return;
    if (from == p.x.stored)
      p.grad_bias.store<T>(p.grad_bias.place.at(sequence, head, 0, to), value);
    else if (p.grad_w.width > 0)
      p.grad_w.store<T>(p.grad_w.place.at(sequence, head, from, to), value);
  });
}

}  // namespace

template <class T, class Factor>
void dense(Call& call, const Dense& x) {
  call.launch(layer<T, Factor>, {x.tokens.slots(), wide_tiles(x.y.width), call.heads()}, kThreads, Tiles<Factor>::bytes,
              x);
}

template <class T, class Factor>
void dense_gradient(Call& call, const DenseGradient& gradient) {
  DenseGradient x = gradient;
  x.x.ones = x.grad_bias.width > 0;
  const int row_tiles = static_cast<int>(divide_up(x.grad_y.width(), kTile));
  call.launch(sums_over_tokens<T, Factor>, {x.tokens.count, row_tiles * wide_tiles(x.x.width()), call.heads()},
              kThreads, Tiles<Factor>::bytes, x, row_tiles);
}

}  // namespace attest::cuda

#define ATTEST_CUDA_UNIT_layers(T, Factor)             \
  template void dense<T, Factor>(Call&, const Dense&); \
  template void dense_gradient<T, Factor>(Call&, const DenseGradient&);
