// SPDX-License-Identifier: MIT
#include "attest/cuda/emulated/host.hpp"
#include "sentence.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

namespace attest::cuda::emulation {

namespace {

const Device* find_device(int capability) {
  const auto* const at = std::find_if(devices.begin(), devices.end(),
                                      [&](const Device& device) { return device.capability == capability; });
  return at == devices.end() ? nullptr : at;
}

/// Those that can be emulated, written as "80, 86 or 90".
struct Capabilities {};
std::ostream& operator<<(std::ostream& out, Capabilities) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    out << (i == 0 ? "" : i + 1 < devices.size() ? ", " : " or ") << devices[i].capability;
  return out;
}

constexpr auto single_thread_time = std::chrono::milliseconds(2);

Settings from_environment() {
  Settings settings;
  if (const char* seed = std::getenv("ATTEST_CUDA_SEED")) settings.seed = std::strtoull(seed, nullptr, 10);
  if (const char* check = std::getenv("ATTEST_CUDA_RACECHECK")) settings.racecheck = std::strcmp(check, "0") != 0;
  if (const char* capability = std::getenv("ATTEST_CUDA_EMULATED_CAPABILITY")) {
    settings.capability = std::atoi(capability);
    if (std::to_string(settings.capability) != capability || !find_device(settings.capability))
      throw Error(sentence("ATTEST_CUDA_EMULATED_CAPABILITY: ", Capabilities{}, ", not ", capability));
  }
  if (const char* limit = std::getenv("ATTEST_CUDA_EMULATED_GRID"))
    settings.grid_limit = static_cast<unsigned>(std::strtoul(limit, nullptr, 10));
  return settings;
}

void check(const Launch& launch) {
  const auto refuse = [](const std::string& what) {
    throw Report(ErrorKind::launch, {}, {}, "", 0, std::string("launch: ") + what);
  };
  const auto shape = [](dim3 d) {
    return std::string("(") + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  const dim3 &block = launch.block, &grid = launch.grid;
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || block.x > block_limit || block.y > block_limit || block.z > 64 || threads > block_limit) {
    refuse(std::string("a block of ") + shape(block) + " threads; 1 to 1024 are allowed, at most 64 along z");
  }
  if (const unsigned limit = settings().grid_limit;
      grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > limit || grid.z > limit)
    refuse(sentence("a grid of ", shape(grid), " blocks; at most ", 0x7fffffff, " along x, ", limit, " along y and z"));
  if (const Device& on = device(); launch.shared_bytes > on.shared_limit) {
    throw Report(ErrorKind::shared_memory, {}, {}, "", 0,
                 sentence("launch: ", launch.shared_bytes, " bytes of dynamic shared memory; ", on.shared_limit / 1024,
                          " KiB is the limit of compute capability ", on.capability));
  }
}

/// CUDA promises no order of blocks.
std::vector<std::uint32_t> shuffled_blocks(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 engine(seed);
  std::shuffle(order.begin(), order.end(), engine);
  return order;
}

}  // namespace

const Device& device() {
  const Device* found = find_device(settings().capability);
  if (!found) throw Error(sentence("the emulated capability: ", Capabilities{}, ", not ", settings().capability));
  return *found;
}

Settings& settings() {
  static Settings of_the_process = from_environment();
  return of_the_process;
}

void run(const Launch& launch, void (*body)(const void*), const void* argument) {
  check(launch);
  const std::uint64_t seed = settings().seed;
  const dim3 grid = launch.grid;
  const auto order = shuffled_blocks(std::uint64_t{grid.x} * grid.y * grid.z, seed);
  // Blocks start in this order. After a report only those before it continue, so that the first report in this order is
  // always the one thrown.
  std::atomic<std::size_t> next{0}, failed{order.size()};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&](const auto& enough) {
    static thread_local std::unique_ptr<Block> of_this_host_thread;
    if (!of_this_host_thread) of_this_host_thread = std::make_unique<Block>();
    Block& block = *of_this_host_thread;
    gridDim = grid;
    blockDim = launch.block;
    while (!enough()) {
      const std::size_t i = next++;
      if (i >= failed) return;
      const std::uint32_t linear = order[i];
      try {
        block.run({linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y}, (seed << 32) + linear,
                  static_cast<std::uint32_t>(launch.shared_bytes), [&] { body(argument); });
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (i < failed) {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  };
  // A team of host threads costs more than a small launch: one begins alone.
  const auto start = std::chrono::steady_clock::now();
  work([&] { return std::chrono::steady_clock::now() - start > single_thread_time; });
  if (next < failed) {
#pragma omp parallel
    work([] { return false; });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attest::cuda::emulation
