// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "attest/cuda/emulated/types.hpp"
#include "attest/cuda/error.hpp"
#include "attest/cuda/tensor_core.hpp"

/// The host interface of the emulation beyond CUDA itself: settings and reports.

namespace attest::cuda::emulation {

/// A device that can be emulated.
struct Device {
  int capability;              ///< 10 * major + minor
  std::uint32_t shared_limit;  ///< bytes of shared memory, static and dynamic, of a block whose launch asks for them
};

/// [CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"]
inline constexpr std::array<Device, 5> devices{
    {{80, 163 * 1024}, {86, 99 * 1024}, {89, 99 * 1024}, {90, 227 * 1024}, {100, 227 * 1024}}};

/// The device of the settings; throws Error where it is none of `devices`.
const Device& device();

struct Settings {
  std::uint64_t seed = 0;       ///< ATTEST_CUDA_SEED: the order of blocks, and of threads between barriers
  bool racecheck = true;        ///< ATTEST_CUDA_RACECHECK=0
  int capability = 90;          ///< ATTEST_CUDA_EMULATED_CAPABILITY=80: of a device; the sums are those of 80 below 90
  int devices = 1;              ///< how many there are
  unsigned grid_limit = 65535;  ///< ATTEST_CUDA_EMULATED_GRID: blocks of a grid along y and along z
  double patience = 20;         ///< seconds that a thread may poll a flag (load_acquire) without getting any further
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
  diverged,
  misaligned,
  shared_memory,
  launch,
  no_progress,
};

/// Thrown by launch(): the kind of error, and where it happened. what() is a sentence with block, thread and line.
struct Report : Error {
  Report(ErrorKind kind_of_error, uint3 block_index, uint3 thread_index, std::string source, unsigned source_line,
         const std::string& text)
      : Error(text),
        kind(kind_of_error),
        block(block_index),
        thread(thread_index),
        file(std::move(source)),
        line(source_line) {}
  ErrorKind kind;
  uint3 block, thread;
  std::string file;
  unsigned line;
};

}  // namespace attest::cuda::emulation
