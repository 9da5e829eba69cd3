// SPDX-License-Identifier: MIT
#include "attest/cuda/scores.hpp"

#include "attest/cuda/row.hpp"

namespace attest::cuda {
namespace {

/// All rows of a sequence.
__device__ Chunk all_rows(const Sequences& rows, int sequence) {
  return {sequence, 0, 0, static_cast<int>(rows.length)};
}

/// One thread for each element.
template <class T>
__global__ __launch_bounds__(kThreads) void element_sums(Sequences rows, Rows x, Rows y, OutputRows sums,
                                                         Index blocks) {
  const auto [sequence, block] = BlockOfSequence::of(blocks);
  const int head = static_cast<int>(blockIdx.z);
  const Index at = block * kThreads + threadIdx.x, i = at / sums.width;
  const int column = static_cast<int>(at % sums.width);
  if (i >= rows.length) return;
  const Chunk chunk = all_rows(rows, sequence);
  sums.store<T>(sums.place.at(sequence, head, i, column),
                Panel<T>(x, chunk, head)(i, column) + Panel<T>(y, chunk, head)(i, column));
}

/// One warp for each column.
template <class T>
__global__ __launch_bounds__(kThreads) void row_sums(Sequences rows, Rows x, OutputRows sums, Index blocks) {
  const auto [sequence, block] = BlockOfSequence::of(blocks);
  const int head = static_cast<int>(blockIdx.z), column = static_cast<int>(block) * kWarps + warp();
  if (column >= sums.width) return;
  const Chunk chunk = all_rows(rows, sequence);
  const Panel<T> panel(x, chunk, head);
  float sum = 0;
  for (int i = lane(); i < chunk.count; i += 32) sum += panel(i, column);
  sum = warp_sum(sum);
  if (lane() == 0) sums.store<T>(sums.place.at(sequence, head, 0, column), sum);
}

}  // namespace

template <class T>
Rows add_rows(Call& call, const Sequences& rows, const Rows& x, const Rows& y) {
  const OutputRows sums = call.workspace_rows(rows, x.stored);
  const Index blocks = divide_up(rows.length * x.stored, kThreads);
  call.launch(element_sums<T>, {blocks * rows.count, 1, call.heads()}, kThreads, 0, rows, x, y, sums, blocks);
  return read_back(sums);
}

template <class T>
void sum_rows(Call& call, const Sequences& rows, const Rows& x, const OutputRows& sums) {
  const Index blocks = divide_up(sums.width, kWarps);
  call.launch(row_sums<T>, {blocks * rows.count, 1, call.heads()}, kThreads, 0, rows, x, sums, blocks);
}

#define ATTEST_CUDA_INSTANTIATE(T)                                              \
  template Rows add_rows<T>(Call&, const Sequences&, const Rows&, const Rows&); \
  template void sum_rows<T>(Call&, const Sequences&, const Rows&, const OutputRows&);
ATTEST_CUDA_INSTANTIATE(float)
ATTEST_CUDA_INSTANTIATE(__nv_bfloat16)
ATTEST_CUDA_INSTANTIATE(__half)
#undef ATTEST_CUDA_INSTANTIATE

}  // namespace attest::cuda
