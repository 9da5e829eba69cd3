// SPDX-License-Identifier: MIT
#include "attest/cuda/scores.hpp"

#include "attest/cuda/products.hpp"
#include "attest/cuda/row.hpp"

namespace attest::cuda {
namespace {

/// All rows of a sequence.
__device__ Chunk all_rows(const Sequences& rows, int sequence) { return {sequence, 0, 0, static_cast<int>(rows.length)}; }

/// 64 rows and 64 columns of one sequence and head.
template <class T, class Factor>
__global__ __launch_bounds__(kThreads) void row_products(Scores p, int row_tiles) {
  DynamicShared memory;
  const Tiles<Factor> tiles(memory);
  const int sequence = static_cast<int>(blockIdx.x) / row_tiles, head = static_cast<int>(blockIdx.z);
  const int first = static_cast<int>(blockIdx.x) % row_tiles * kTile, column = static_cast<int>(blockIdx.y) * kTile;
  const Chunk chunk = all_rows(p.rows, sequence);
  const int rows = chunk.count - first < kTile ? chunk.count - first : kTile, columns = p.answers.width - column < kTile ? p.answers.width - column : kTile;
  Strip<Factor, kTile / 8> sum;
  add_scores<T, Factor>(sum, tiles, Panel<T>(p.a, chunk, head), Panel<T>(p.b, chunk, head), first, rows, column, columns);
  if (!strip_is_in(rows)) return;
  const Product answer{.answers = p.answers, .addend = p.addend};
  sum.each(round_up(columns, 8) / 8, [&](int row, int x, float value) {
    const int r = strip_row() + row, i = first + r, j = column + x;
    if (r >= rows || x >= columns) return;
    if (j - i > p.last_diagonal) store_answer<T>({.answers = p.answers}, chunk, head, i, j, 0, 1);
    else store_answer<T>(answer, chunk, head, i, j, p.factor * value, 1);
  });
}

/// A thread has an element.
template <class T>
__global__ __launch_bounds__(kThreads) void element_sums(Sequences rows, Rows x, Rows y, Answers sums) {
  const int sequence = static_cast<int>(blockIdx.y), head = static_cast<int>(blockIdx.z);
  const Index at = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x, i = at / sums.width;
  const int column = static_cast<int>(at % sums.width);
  if (i >= rows.length) return;
  const Chunk chunk = all_rows(rows, sequence);
  store_answer<T>({.answers = sums}, chunk, head, i, column, Panel<T>(x, chunk, head)(i, column) + Panel<T>(y, chunk, head)(i, column), 1);
}

/// A warp has a column.
template <class T>
__global__ __launch_bounds__(kThreads) void row_sums(Sequences rows, Rows x, Answers sums) {
  const int sequence = static_cast<int>(blockIdx.y), head = static_cast<int>(blockIdx.z), column = static_cast<int>(blockIdx.x) * kWarps + warp();
  if (column >= sums.width) return;
  const Chunk chunk = all_rows(rows, sequence);
  const Panel<T> panel(x, chunk, head);
  float sum = 0;
  for (int i = lane(); i < chunk.count; i += 32) sum += panel(i, column);
  sum = warp_sum(sum);
  if (lane() == 0) store_answer<T>({.answers = sums}, chunk, head, 0, column, sum, 1);
}

}  // namespace

template <class T, class Factor>
void multiply_rows(Call& call, const Scores& scores) {
  const int row_tiles = static_cast<int>(divide_up(scores.rows.length, kTile));
  call.launch(row_products<T, Factor>, {row_tiles * scores.rows.count, divide_up(scores.answers.width, kTile), call.heads()}, kThreads, Tiles<Factor>::bytes, scores,
              row_tiles);
}

template <class T>
Rows add_rows(Call& call, const Sequences& rows, const Rows& x, const Rows& y) {
  const Answers sums = call.workspace_rows(rows, x.stored);
  call.launch(element_sums<T>, {divide_up(rows.length * x.stored, kThreads), rows.count, call.heads()}, kThreads, 0, rows, x, y, sums);
  return read_back(sums);
}

template <class T>
void sum_rows(Call& call, const Sequences& rows, const Rows& x, const Answers& sums) {
  call.launch(row_sums<T>, {divide_up(sums.width, kWarps), rows.count, call.heads()}, kThreads, 0, rows, x, sums);
}

#define ATTEST_CUDA_INSTANTIATE(T, Factor) template void multiply_rows<T, Factor>(Call&, const Scores&);
ATTEST_CUDA_FORMATS(ATTEST_CUDA_INSTANTIATE)
#undef ATTEST_CUDA_INSTANTIATE
#define ATTEST_CUDA_INSTANTIATE(T)                                                          \
  template Rows add_rows<T>(Call&, const Sequences&, const Rows&, const Rows&);             \
  template void sum_rows<T>(Call&, const Sequences&, const Rows&, const Answers&);
ATTEST_CUDA_INSTANTIATE(float)
ATTEST_CUDA_INSTANTIATE(__nv_bfloat16)
ATTEST_CUDA_INSTANTIATE(__half)

}  // namespace attest::cuda
