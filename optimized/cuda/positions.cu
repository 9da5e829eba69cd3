// SPDX-License-Identifier: MIT
// The tables of sinusoidal encodings and of rotations.
#include "attest/cuda/positions.hpp"

#include <cmath>

namespace attest::cuda {
namespace {

__global__ __launch_bounds__(kThreads) void write_sinusoids(Sinusoids sinusoids, float* table) {
  const int sines = sinusoids.width - sinusoids.width / 2;
  const Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x, row = i / sines;
  if (row >= sinusoids.rows) return;
  const int m = static_cast<int>(i % sines), a = sinusoids.blocks ? m : 2 * m,
            b = sinusoids.blocks ? sines + m : 2 * m + 1;
  const double angle = static_cast<double>(sinusoids.start + row) * sinusoids.frequencies.at(m);
  table[row * sinusoids.width + a] = static_cast<float>(sin(angle));
  if (b < sinusoids.width) table[row * sinusoids.width + b] = static_cast<float>(cos(angle));
}

__global__ __launch_bounds__(kThreads) void write_rotations(Sequences tokens, Rotations rotations, OutputRows table) {
  const Chunk chunk = tokens.chunk_at(blockIdx.x);
  const int pairs = table.width / 2;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.count * pairs; i += kThreads) {
    const int row = i / pairs, m = i % pairs;
    const Index position =
        rotations.positions.data ? rotations.positions.at(chunk, 0, row) : rotations.start + chunk.first + row;
    const double angle = static_cast<double>(position) * rotations.frequencies.at(m);
    float* to =
        static_cast<float*>(table.data) + table.place.at(chunk.sequence, 0, chunk.origin + chunk.first + row, m);
    to[0] = static_cast<float>(cos(angle));
    to[pairs] = static_cast<float>(sin(angle));
  }
}

}  // namespace

Frequencies Frequencies::of(const Call& call, double steps) { return {std::log2(call.real("base")), steps}; }

Rows Sinusoids::table(Call& call) const {
  float* memory = call.workspace<float>(rows * width);
  call.launch(write_sinusoids, {divide_up(rows * (width - width / 2), kThreads), 1, 1}, kThreads, 0, *this, memory);
  return {.data = memory, .in_float = true, .place = {.row = width, .column = 1}, .stored = width};
}

Rows Rotations::table(Call& call, const Sequences& tokens, int width) const {
  const OutputRows out = call.workspace_rows(tokens, width, call.heads());
  call.launch(write_rotations, {tokens.slots(), 1, 1}, kThreads, 0, tokens, *this, out);
  return read_back(out);
}

}  // namespace attest::cuda
