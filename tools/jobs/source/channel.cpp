// SPDX-License-Identifier: MIT
#include "attest/jobs/channel.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "attest/jobs/ranks.h"

namespace attest::jobs {
namespace {

class Mpi : public Channel {
public:
  explicit Mpi(const attest_ranks& ranks) : ranks_(ranks) { ranks_.begin(&rank_, &size_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string_view message) override {
    if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw std::runtime_error(fmt::format("a message of {} bytes is too long for MPI", message.size()));
    const std::lock_guard lock(mutex_);
    ranks_.send(to, message.data(), static_cast<int>(message.size()));
  }

  std::optional<std::pair<int, std::string>> arrived() override {
    const std::lock_guard lock(mutex_);
    int from = 0;
    const int count = ranks_.arrived(&from);
    if (count < 0) return std::nullopt;
    std::string message(static_cast<std::size_t>(count), '\0');
    ranks_.receive(from, message.data(), count);
    return std::pair(from, std::move(message));
  }

  const attest_ranks& ranks() const { return ranks_; }

private:
  const attest_ranks& ranks_;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
};

std::unique_ptr<Mpi>& begun() {
  static std::unique_ptr<Mpi> mpi;
  return mpi;
}

std::optional<int> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  char* end = nullptr;
  const long number = text ? std::strtol(text, &end, 10) : 0;
  return text && *text && !*end && number >= 0 && number <= std::numeric_limits<int>::max()
             ? std::optional(static_cast<int>(number))
             : std::nullopt;
}

}  // namespace

std::pair<int, std::string> receive(Channel& channel) {
  for (;;) {
    if (auto message = channel.arrived()) return *std::move(message);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Launched launched() {
  // Open MPI; MPICH and its kin; Slurm, within a step.
  struct Variables {
    const char *rank, *size, *local;
  };
  static constexpr std::array<Variables, 3> variables{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
       {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
       {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}}};
  for (const auto& [rank, size, local] : variables) {
    const auto r = number_of(rank), s = number_of(size);
    if (r && s && *r < *s) return {*r, *s, number_of(local).value_or(*r)};
  }
  return {};
}

Channel& begin_mpi(const std::filesystem::path& library) {
  if (begun()) return *begun();
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);  // Open MPI loads parts that look for its symbols
  if (!handle)
    throw std::runtime_error(
        fmt::format("this process is rank {} of {}, and attest cannot use MPI here: {}", launched().rank,
                    launched().size, ::dlerror()));  // NOLINT(concurrency-mt-unsafe): no other thread loads libraries
  auto* of_mpi = reinterpret_cast<decltype(&attest_ranks_of_mpi)>(::dlsym(handle, "attest_ranks_of_mpi"));
  if (!of_mpi) throw std::runtime_error(fmt::format("{} is not attest's library for MPI", library.string()));
  begun() = std::make_unique<Mpi>(*of_mpi());
  return *begun();
}

void end_mpi(int status) {
  if (!begun()) return;
  if (!begun()->ended) begun()->ranks().abort(status);
  begun()->ranks().end();
}

}  // namespace attest::jobs
