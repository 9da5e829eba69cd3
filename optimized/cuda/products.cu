// SPDX-License-Identifier: MIT
// All chunks at once: the prefix sums of their totals. units/products.hpp has the totals and the outputs.
#include "attest/cuda/products.hpp"

namespace attest::cuda {
namespace {

/// Each total becomes the sum of the initial state and the totals before it (after it for Order::future), always added
/// in the order of the tokens, so that the bits do not depend on scheduling. A thread has one element of the state.
__global__ void prefix_sums(State states, Sequences tokens, Order order, State initial, State final, State whole,
                            Index blocks) {
  const auto [sequence, block] = BlockOfSequence::of(blocks);
  const int head = static_cast<int>(blockIdx.z), i = static_cast<int>(block * kThreads + threadIdx.x);
  if (i >= states.rows * states.columns) return;
  const int row = i / states.columns, column = i % states.columns;
  float* totals = StatePanel(states, 0, head).at(row, column);
  float sum = StatePanel(initial, sequence, head)(row, column);
  const Index first = tokens.slot_of(sequence), chunks = tokens.chunks_of(sequence);
  for (Index step = 0; step < chunks; ++step) {
    float* total = totals + (first + (order == Order::future ? chunks - 1 - step : step)) * states.place.sequence;
    const float mine = *total;
    *total = sum;
    sum += mine;
  }
  if (float* to = StatePanel(final, sequence, head).at(row, column)) *to = sum;
  if (float* to = StatePanel(whole, sequence, head).at(row, column)) *to = sum;
}

}  // namespace

void add_up_states(Call& call, const State& states, const Sequences& tokens, Order order, const State& initial,
                   const State& final, const State& whole) {
  const Index blocks = divide_up(static_cast<Index>(states.rows) * states.columns, kThreads);
  call.launch(prefix_sums, {blocks * tokens.count, 1, call.heads()}, kThreads, 0, states, tokens, order, initial, final,
              whole, blocks);
}

/// Prefix sums over no chunks.
void copy_state(Call& call, int sequences, const State& from, const State& to) {
  const Sequences none{.count = sequences};
  const State shape{.rows = from.rows, .columns = from.columns};
  add_up_states(call, shape, none, Order::past, from, to, State{});
}

}  // namespace attest::cuda
