// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/elements.hpp"

/// The gate between the memory's output and local attention, and its gradient.

namespace attest::cuda {

inline constexpr int kGateRows = 32;  // of a block

/// sigma(x), from the exponential that cannot overflow.
__device__ inline float sigma(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1 + e);
}

/// Weights of the two branches: sigma(beta), and 1 - sigma(beta) computed as sigma(-beta), which stays positive where
/// the first rounds to 1.
struct GateWeights {
  float memory, local;

  template <class T>
  __device__ static GateWeights of(const Panel<T>& beta) {
    return {sigma(beta(0, 0)), sigma(-beta(0, 0))};
  }
};

/// a = sigma(beta) a_mem + (1 - sigma(beta)) a_dot
template <class T>
__global__ __launch_bounds__(kThreads) void mix(Sequences tokens, Rows beta, Rows a_mem, Rows a_dot, OutputRows a) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const auto weights = GateWeights::of(Panel<T>(beta, chunk, head));
  const Panel<T> memory(a_mem, chunk, head), local(a_dot, chunk, head);
  each_piece<T>(chunk, a.width, [&](int row, int column) {
    auto piece = Piece<T>::of(memory, row, column);
    const auto other = Piece<T>::of(local, row, column);
    for (int i = 0; i < Piece<T>::size; ++i)
      piece.values[i] = __fmaf_rn(weights.memory, piece.values[i], weights.local * other.values[i]);
    piece.store(a, chunk, head, row, column);
  });
}

/// The sum over the threads of a block, valid in thread 0; the order of addition is fixed.
__device__ inline float block_sum(float mine) {
  __shared__ Shared<float, kWarps> sums;
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, distance);
  if (lane() == 0) sums(warp()) = mine;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += sums(w);
  return sum;
}

/// The gradients of a_mem and a_dot, and one partial sum of each block: grad_a (a_mem - a_dot) over its elements.
template <class T>
__global__ __launch_bounds__(kThreads) void split_gradient(Sequences tokens, Rows beta, Rows a_mem, Rows a_dot,
                                                           Rows grad_a, OutputRows grad_mem, OutputRows grad_dot,
                                                           float* sums) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z);
  const auto weights = GateWeights::of(Panel<T>(beta, chunk, head));
  const Panel<T> memory(a_mem, chunk, head), local(a_dot, chunk, head), cotangent(grad_a, chunk, head);
  float sum = 0;
  each_piece<T>(chunk, grad_a.width(), [&](int row, int column) {
    auto piece = Piece<T>::of(memory, row, column), other = Piece<T>::of(local, row, column);
    const auto gradient = Piece<T>::of(cotangent, row, column);
    for (int i = 0; i < Piece<T>::size; ++i) {
      sum = __fmaf_rn(gradient.values[i], piece.values[i] - other.values[i], sum);
      piece.values[i] = weights.memory * gradient.values[i];
      other.values[i] = weights.local * gradient.values[i];
    }
    piece.store(grad_mem, chunk, head, row, column);
    other.store(grad_dot, chunk, head, row, column);
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.z * gridDim.x + blockIdx.x] = sum;
}

/// grad_beta = sigma(beta) (1 - sigma(beta)) times the sum over all blocks of a sequence and head.
template <class T>
__global__ __launch_bounds__(kThreads) void sum_partials(Sequences tokens, Rows beta, const float* sums,
                                                         OutputRows grad_beta) {
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z);
  const Chunk first = tokens.chunk_of(sequence, 0);
  const Index begin = head * tokens.slots() + tokens.slot_of(sequence), chunks = tokens.chunks_of(sequence);
  float sum = 0;
  for (Index i = threadIdx.x; i < chunks; i += kThreads) sum += sums[begin + i];
  sum = block_sum(sum);
  const auto weights = GateWeights::of(Panel<T>(beta, first, head));
  if (threadIdx.x != 0) return;
  static_cast<T*>(grad_beta.data)[grad_beta.place.at(sequence, head, 0, 0)] =
      from_float<T>(weights.memory * weights.local * sum);
}

/// a = sigma(beta) a_mem + (1 - sigma(beta)) a_dot. `tokens` has kGateRows in a chunk.
template <class T>
void gate(Call& call, const Sequences& tokens, const Rows& beta, const Rows& a_mem, const Rows& a_dot,
          const OutputRows& a) {
  launch_by_chunks(call, mix<T>, tokens, beta, a_mem, a_dot, a);
}

template <class T>
void gate_backward(Call& call, const Sequences& tokens, const Rows& beta, const Rows& a_mem, const Rows& a_dot,
                   const Rows& grad_a, const OutputRows& grad_mem, const OutputRows& grad_dot,
                   const OutputRows& grad_beta) {
  float* sums = call.workspace<float>(tokens.slots() * call.heads());
  launch_by_chunks(call, split_gradient<T>, tokens, beta, a_mem, a_dot, grad_a, grad_mem, grad_dot, sums);
  call.launch(sum_partials<T>, {tokens.count, 1, call.heads()}, kThreads, 0, tokens, beta, sums, grad_beta);
}

}  // namespace attest::cuda
