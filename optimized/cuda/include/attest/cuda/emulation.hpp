// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "attest/cuda/emulated/types.hpp"
#include "attest/cuda/error.hpp"

/// The host interface of the emulation beyond CUDA itself: settings and reports.

namespace attest::cuda::emulation {

/// The tensor core whose sums a matrix product imitates (README.md, "Matrix products").
enum class TensorCore { sm_80, sm_90 };

struct Settings {
  std::uint64_t seed = 0;  ///< ATTEST_CUDA_SEED: the order of blocks, and of threads between barriers
  bool racecheck = true;   ///< ATTEST_CUDA_RACECHECK=0
  int capability = 90;     ///< ATTEST_CUDA_EMULATED_CAPABILITY=80: the device whose sums and instructions are imitated
  double patience = 20;    ///< seconds that a thread may poll a flag (load_acquire) without getting any further
};

/// Of the whole process; from the environment at first, to be changed between launches.
Settings& settings();

enum class ErrorKind {
  barrier_divergence,
  out_of_bounds,
  unwritten,
  race,
  in_flight,
  unfenced,
  collective,
  misaligned,
  shared_memory,
  launch,
  no_progress,
};

/// Thrown by launch(): the kind of error, and where it happened. what() is a sentence with block, thread and line.
struct Report : Error {
  Report(ErrorKind kind, uint3 block_index, uint3 thread_index, std::string source, unsigned source_line,
         const std::string& text)
      : Error(text),
        mistake(kind),
        block(block_index),
        thread(thread_index),
        file(std::move(source)),
        line(source_line) {}
  ErrorKind mistake;
  uint3 block, thread;
  std::string file;
  unsigned line;
};

}  // namespace attest::cuda::emulation
