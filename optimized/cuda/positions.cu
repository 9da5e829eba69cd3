// SPDX-License-Identifier: MIT
// The tables of sinusoidal encodings.
#include "attest/cuda/positions.hpp"

#include <cmath>

namespace attest::cuda {
namespace {

__global__ __launch_bounds__(kThreads) void write_waves(Waves waves, float* table) {
  const int sines = waves.width - waves.width / 2;
  const Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x, row = i / sines;
  if (row >= waves.rows) return;
  const int m = static_cast<int>(i % sines), a = waves.blocks ? m : 2 * m, b = waves.blocks ? sines + m : 2 * m + 1;
  const double angle = static_cast<double>(waves.start + row) * waves.frequencies.at(m);
  table[row * waves.width + a] = static_cast<float>(sin(angle));
  if (b < waves.width) table[row * waves.width + b] = static_cast<float>(cos(angle));
}

}  // namespace

Frequencies Frequencies::of(const Call& call, double steps) { return {std::log2(call.real("base")), steps}; }

Rows Waves::table(Call& call) const {
  float* memory = call.workspace<float>(rows * width);
  call.launch(write_waves, {divide_up(rows * (width - width / 2), kThreads), 1, 1}, kThreads, 0, *this, memory);
  return {.data = memory, .wide = true, .place = {.row = width, .column = 1}, .stored = width};
}

}  // namespace attest::cuda
