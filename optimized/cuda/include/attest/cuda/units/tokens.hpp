// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/linear.hpp"
#include "attest/cuda/tiles.hpp"

/// One token after the other, in true float: each thread keeps its part of the state in registers. The operations of a
/// token's output depend neither on later tokens nor on where the call began, so that a carried state gives the bits of
/// one call.

namespace attest::cuda {
namespace {

constexpr int kSteps = 8;    // tokens between barriers
constexpr int kValues = 31;  // columns of a block, one for each lane but the last, which has the denominator
constexpr int kLargest = 260, kOwn = kLargest / kWarps;  // rows of the state: warp w has rows w, w + 4, ...

template <class T>
__global__ __launch_bounds__(kThreads) void step_by_step(Product p) {
  __shared__ Shared<float, kSteps, kLargest> a_tile;
  __shared__ Shared<float, kSteps, kLargest> b_tile;
  __shared__ Shared<float, kSteps, 32> c_tile;
  __shared__ Shared<float, kSteps, kWarps, 32> parts;
  const int sequence = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.z),
            first = static_cast<int>(blockIdx.y) * kValues;
  const bool divides = p.division.wanted, last = lane() == kValues;
  const bool mine = last ? divides : first + lane() < p.output.width;
  const int width = p.a.width(), column = last ? p.initial.columns - 1 : first + lane();

  const StatePanel before(p.initial, sequence, head), after(p.final, sequence, head);
  float state[kOwn];
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const int row = r * kWarps + warp();
    state[r] = mine && row < width ? before(row, column) : 0.0f;
  }

  const Index n = p.tokens.length_of(sequence);
  const Chunk whole{sequence, p.tokens.origin_of(sequence), 0, static_cast<int>(n)};
  const Panel<T> a(p.a, whole, head), b(p.b, whole, head), c(p.c, whole, head);
  const Epilogue<T> epilogue(p, whole, head);
  const auto token = [&](Index i) { return p.order == Order::future ? n - 1 - i : i; };
  for (Index begin = 0; begin < n; begin += kSteps) {
    const int steps = n - begin < kSteps ? static_cast<int>(n - begin) : kSteps;
    each_element(steps, width, [&](int step, int x) {
      a_tile(step, x) = a(token(begin + step), x);
      b_tile(step, x) = b(token(begin + step), x);
    });
    for (int step = warp(); step < steps; step += kWarps) {
      const Index t = token(begin + step);
      c_tile(step, lane()) = last ? (c.hidden(t) ? 0.0f : 1.0f) : mine ? c(t, column) : 0.0f;
    }
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
      const float value = c_tile(step, lane());
      float sum = 0;
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
        const int row = r * kWarps + warp();
        if (row >= width) continue;
        const float key = b_tile(step, row), query = a_tile(step, row);
        state[r] = __fmaf_rn(key, value, state[r]);
        sum = __fmaf_rn(query, state[r], sum);
      }
      parts(step, warp(), lane()) = sum;
    }
    __syncthreads();
    for (int step = warp(); step < steps; step += kWarps) {
      float sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += parts(step, w, lane());
      const float denominator = __shfl_sync(0xffffffffu, sum, kValues);
      if (!last && mine) epilogue.store(token(begin + step), column, sum, epilogue.divisor(denominator));
    }
  }

#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const int row = r * kWarps + warp();
    if (row >= width || !mine || (last && first > 0)) continue;
    if (float* to = after.at(row, column)) *to = state[r];
  }
}

/// e = -(grad_o . o) / d and G = grad_o / d: a warp for each token.
template <class T>
__global__ __launch_bounds__(kThreads) void divide_cotangents(Sequences tokens, Rows sums, Rows grad_o, float eps,
                                                              OutputRows out) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int head = static_cast<int>(blockIdx.z), row = warp(), m = grad_o.width();
  if (row >= chunk.count) return;
  const Panel<T> sum(sums, chunk, head), cotangent(grad_o, chunk, head);
  const float denominator = sum(row, m) + eps;
  float dot = 0;
  float* to = static_cast<float*>(out.data) + out.place.at(chunk.sequence, head, chunk.origin + chunk.first + row, 0);
  for (int x = lane(); x < m; x += 32) {
    const float gradient = cotangent(row, x);
    if (denominator != 0) dot = __fmaf_rn(gradient, __fdiv_rn(sum(row, x), denominator), dot);
    to[x * out.place.column] = denominator == 0 ? 0.0f : __fdiv_rn(gradient, denominator);
  }
  for (int distance = 16; distance > 0; distance /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, distance);
  if (lane() == 0) to[m * out.place.column] = denominator == 0 ? 0.0f : -__fdiv_rn(dot, denominator);
}

}  // namespace

template <class T>
void outputs_by_tokens(Call& call, const Product& product) {
  if (product.a.width() > kLargest)
    throw std::invalid_argument("a state of " + std::to_string(product.a.width()) + " rows; token by token at most " +
                                std::to_string(kLargest));
  call.launch(step_by_step<T>, {product.tokens.count, divide_up(product.output.width, kValues), call.heads()}, kThreads,
              0, product);
}

template <class T>
Rows division_gradients(Call& call, const Sequences& tokens, const OutputRows& sums, const Rows& grad_o, float eps) {
  const OutputRows out = call.workspace_rows(tokens, sums.width);
  Sequences warps = tokens;
  warps.chunk = kWarps;
  call.launch(divide_cotangents<T>, {warps.slots(), 1, call.heads()}, kThreads, 0, warps, read_back(sums), grad_o, eps,
              out);
  return read_back(out);
}

}  // namespace attest::cuda

#define ATTEST_CUDA_UNIT_steps(T)                            \
  template void outputs_by_tokens<T>(Call&, const Product&); \
  template Rows division_gradients<T>(Call&, const Sequences&, const OutputRows&, const Rows&, float);
