// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/products.hpp"

/// One chunk after the other: a block processes its sequence in order, with the state in shared memory.

namespace attest::cuda {
namespace {

/// The output of all tokens of a sequence, in the columns of one tile, with those columns of the state. With the delta
/// rule the update is the residual: a chunk's targets less the state's output for its keys.
template <class T, class Factor, bool delta>
__global__ __launch_bounds__(kThreads, 1) void sweep(Product p) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const Span span = Span::of(p, static_cast<int>(blockIdx.y));
  const int width = p.a.width(), padded = round_up(width, 16), columns = 8 * span.fragments();
  const auto state = memory.take<float>(padded, kWidePitch);
  const StatePanel before(p.initial, sequence, head), after(p.final, sequence, head);
  fill_state(state, before, 0, padded, span);
  __syncthreads();

  const Chunk whole = p.tokens.chunk_of(sequence, 0);
  const Panel<T> all_a(p.a, whole, head), all_b(p.b, whole, head), all_c(p.c, whole, head);
  const Product residuals{.division = p.division, .output = p.residuals, .negated = true, .addend = p.targets};
  const Epilogue<T> epilogue(p, whole, head), residual(residuals, whole, head);
  const Index chunks = p.tokens.chunks_of(sequence);
  for (Index step = 0; step < chunks; ++step) {
    const Chunk chunk = p.tokens.chunk_of(sequence, p.order == Order::future ? chunks - 1 - step : step);
    const Panel<T> a = all_a.from(chunk.first), b = all_b.from(chunk.first), c = all_c.from(chunk.first);
    for (int first = 0; first < chunk.count; first += kTile) {
      const int rows = chunk.count - first < kTile ? chunk.count - first : kTile;
      Strip<Factor, kFragments> sum;
      const auto state_output = [&](Strip<Factor, kFragments>& into, const Panel<T>& to) {
        add_state<T, Factor>(
            into, tiles, to, first, rows, span, [&](int k, int) { return Right<SharedView<float, 2>>{state, k}; },
            [&](int x) { return float(state(width - 1, x)); });
      };
      state_output(sum, a);
      if (p.order != Order::outside) add_chunk<T, Factor>(sum, tiles, a, b, c, p.order, first, rows, chunk.count, span);
      store_outputs(sum, tiles, epilogue, chunk.first + first, rows, span);
      if constexpr (delta) {
        Strip<Factor, kFragments> retrieved;
        state_output(retrieved, b);
        store_outputs(retrieved, tiles, residual, chunk.first + first, rows, span);
      }
    }
    for (int row = 0; row < width; row += kTile) {
      Strip<Factor, kFragments> sum;
      outer<T, Factor>(sum, tiles, b, c, row, chunk.count, span);
      sum.each(span.fragments(), [&](int r, int column, float value) {
        if (row + strip_row() + r < width) state(row + strip_row() + r, column) += value;
      });
    }
    __syncthreads();
  }

  each_element(width, columns, [&](int row, int x) {
    const int column = span.column_of(x, p.final.columns);
    if (column < 0 || (x < span.begin() && span.first > 0)) return;
    if (float* to = after.at(row, column)) *to = state(row, x);
  });
}

}  // namespace

template <class T, class Factor>
void outputs_by_chunks(Call& call, const Product& product) {
  const std::size_t state = sizeof(float) * kWidePitch * static_cast<std::size_t>(round_up(product.a.width(), 16)),
                    bytes = Tiles<Factor>::bytes + state;
  const bool delta = product.targets.data;  // an input: it is there where the workspace is measured, too
  if (!delta && bytes > shared_memory_limit()) return outputs_of_all_chunks<T, Factor>(call, product);
  call.launch(delta ? sweep<T, Factor, true> : sweep<T, Factor, false>,
              {product.tokens.count, Span::tiles(product), call.heads()}, kThreads, bytes, product);
}

}  // namespace attest::cuda

#define ATTEST_CUDA_UNIT_outputs(T, Factor) template void outputs_by_chunks<T, Factor>(Call&, const Product&);
