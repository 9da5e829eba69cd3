// SPDX-License-Identifier: MIT
// The race check against a plain model: random programs of reads, writes, atomics and barriers, whose races are found
// by vector clocks over all pairs of accesses. A program is reported if and only if it has a race, whatever the order
// of its threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "attest/cuda/device.hpp"

namespace {

using namespace attest::cuda;
using emulation::settings;

constexpr int threads = 96, warps = 3, cells = 6;

enum Action { nothing, reads, writes, adds };
enum Barrier { none, whole_block, whole_warp, halves, quarters, even_and_odd };

struct Step {
  std::array<Action, threads> action{};
  std::array<int, threads> cell{};
  std::array<Barrier, warps> barrier{};  // per warp, unless the block's
};
using Program = std::vector<Step>;

unsigned mask_of(Barrier barrier, int lane) {
  switch (barrier) {
    case halves: return 0xffffu << lane / 16 * 16;
    case quarters: return 0xffu << lane / 8 * 8;
    case even_and_odd: return 0x55555555u << lane % 2;
    default: return 0xffffffffu;
  }
}

__global__ void perform(const Program* program, int* out) {
  __shared__ Shared<int, cells> cell;
  const auto self = static_cast<std::size_t>(threadIdx.x);
  if (self < cells) cell(static_cast<int>(self)) = 0;
  __syncthreads();
  for (const Step& step : *program) {
    const int at = step.cell[self];
    if (step.action[self] == reads) out[self] += cell(at);
    if (step.action[self] == writes) cell(at) = at;
    if (step.action[self] == adds) atomicAdd(&cell(at), 1);
    const Barrier barrier = step.barrier[self / 32];
    if (barrier == whole_block) __syncthreads();
    if (barrier > whole_block) __syncwarp(mask_of(barrier, lane()));
  }
}

Program drawn(std::mt19937& engine) {
  const auto below = [&](unsigned n) { return static_cast<int>(engine() % n); };
  Program program(static_cast<std::size_t>(2 + below(5)));
  const int busy = 1 + below(6);  // of a hundred threads, in one step
  const int writing = below(100);
  for (Step& step : program) {
    const bool block = below(4) == 0;
    for (auto& barrier : step.barrier)
      barrier =
          block ? whole_block
                : std::array{
                      none, whole_warp, whole_warp, halves, quarters, even_and_odd}[static_cast<std::size_t>(below(6))];
    for (std::size_t t = 0; t < threads; ++t) {
      if (below(100) >= busy) continue;
      step.action[t] = below(100) >= writing ? reads : below(2) ? writes : adds;
      step.cell[t] = below(3) ? static_cast<int>(t / 32) : below(cells);  // mostly cells of the warp's own
    }
  }
  return program;
}

bool has_race(const Program& program) {
  struct Access {
    std::size_t thread;
    int cell, time;
    Action action;
    std::array<int, threads> clock;  // the times of the others that are ordered before
  };
  std::vector<Access> all;
  std::vector<std::array<int, threads>> clock(threads);
  for (std::size_t t = 0; t < threads; ++t) clock[t][t] = 1;
  const auto join = [&](auto together) {
    const auto before = clock;
    for (std::size_t t = 0; t < threads; ++t) {
      for (std::size_t u = 0; u < threads; ++u) {
        if (!together(t, u)) continue;
        for (std::size_t i = 0; i < threads; ++i) clock[t][i] = std::max(clock[t][i], before[u][i]);
      }
    }
    for (std::size_t t = 0; t < threads; ++t) ++clock[t][t];
  };
  for (const Step& step : program) {
    for (std::size_t t = 0; t < threads; ++t) {
      if (step.action[t] != nothing) all.push_back({t, step.cell[t], clock[t][t], step.action[t], clock[t]});
    }
    join([&](std::size_t t, std::size_t u) {
      const Barrier barrier = step.barrier[t / 32];
      if (barrier == whole_block) return true;
      return barrier > whole_block && t / 32 == u / 32 &&
             (mask_of(barrier, static_cast<int>(t % 32)) >> u % 32 & 1) != 0;
    });
  }
  for (const Access& x : all) {
    for (const Access& y : all) {
      const bool conflict = x.cell == y.cell && x.thread < y.thread && !(x.action == reads && y.action == reads) &&
                            !(x.action == adds && y.action == adds);
      if (conflict && x.clock[y.thread] < y.time && y.clock[x.thread] < x.time) return true;
    }
  }
  return false;
}

TEST(RaceCheck, AgreesWithVectorClocks) {
  std::mt19937 engine(2024);
  int racing = 0, quiet = 0;
  for (int i = 0; i < 2000; ++i) {
    const Program program = drawn(engine);
    const bool expected = has_race(program);
    ++(expected ? racing : quiet);
    for (int repeat = 0; repeat < 2; ++repeat) {
      settings().seed = engine();
      std::vector<int> out(threads);
      std::string report;
      try {
        launch(perform, 1, threads, 0, nullptr, &program, out.data());
      } catch (const emulation::Report& found) {
        EXPECT_EQ(found.kind, emulation::ErrorKind::race) << found.what();
        report = found.what();
      }
      ASSERT_EQ(!report.empty(), expected) << "program " << i << ", seed " << settings().seed << ": " << report;
    }
  }
  settings() = {};
  EXPECT_GT(racing, 400);
  EXPECT_GT(quiet, 400);
  std::printf("%d programs with a race, %d without\n", racing, quiet);
}

}  // namespace
