// SPDX-License-Identifier: MIT
#include "spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "attest/jobs/channel.hpp"

namespace attest::judge {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

/// File actions and attributes of posix_spawn for a worker.
class SpawnSettings {
public:
  explicit SpawnSettings(const Handed& handed) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    const char* output = std::getenv("ATTEST_WORKER_OUTPUT");
    if (output == nullptr || std::string_view(output) != "1")
      for (const int fd : {1, 2}) ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    for (const auto& [ours, theirs] : handed) ::posix_spawn_file_actions_adddup2(&files, ours, theirs);
    // The child must not inherit that this program ignores or blocks a signal.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    // Ctrl-C on a terminal is for the judge alone: a kernel that it ended would have crashed.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";

/// Of a rank of a job: one of the GPUs that are visible, which the ranks of a machine take in turn. Empty where there
/// is none.
std::string gpu_of_rank() {
  const auto launched = jobs::launched();
  if (launched.size == 1) return "";
  std::vector<std::string> gpus;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream names(visible);
    for (std::string name; std::getline(names, name, ',');) gpus.push_back(name);
  } else {
    for (int gpu = 0; std::filesystem::exists("/dev/nvidia" + std::to_string(gpu)); ++gpu)
      gpus.push_back(std::to_string(gpu));
  }
  if (gpus.empty()) return "";
  return std::string(kVisible) + gpus[static_cast<std::size_t>(launched.local) % gpus.size()];
}

}  // namespace

// Variables that a library needs to run, and nothing that could tell it what it is run for.
// Its idle threads sleep unless the user says otherwise: between calls they would take the cores from the judge.
std::vector<std::string> worker_environment() {
  static constexpr std::array names{"PATH=",         "HOME=",          "LD_LIBRARY_PATH=", "TMPDIR=",
                                    "ASAN_OPTIONS=", "UBSAN_OPTIONS=", "TSAN_OPTIONS=",    "OMP_",
                                    "CUDA_",         "ATTEST_CUDA_",   "ATTEST_SIMD="};
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::any_of(names.begin(), names.end(),
                    [&](std::string_view name) { return std::string_view(*entry).starts_with(name); }))
      result.emplace_back(*entry);
  constexpr std::string_view policy = "OMP_WAIT_POLICY=";
  if (std::none_of(result.begin(), result.end(), [&](const std::string& entry) { return entry.starts_with(policy); }))
    result.emplace_back("OMP_WAIT_POLICY=passive");
  if (const std::string gpu = gpu_of_rank(); !gpu.empty()) {
    std::erase_if(result, [](const std::string& entry) { return entry.starts_with(kVisible); });
    result.push_back(gpu);
  }
  return result;
}

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment, const Handed& handed) {
  pid_t pid = -1;
  const SpawnSettings settings(handed);
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &settings.files, &settings.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a worker process");
  return pid;
}

}  // namespace attest::judge
