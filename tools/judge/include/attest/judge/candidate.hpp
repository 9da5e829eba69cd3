// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attest/judge/kernel.hpp"
#include "attest/judge/process.hpp"

namespace attest::judge {

/// Where the project's own plugins lie: ATTEST_PLUGIN_DIR of the environment, or the build's folder.
std::filesystem::path plugin_folder();

/// The project's own plugins, by the name that `attest check` takes; a build may lack some.
inline constexpr std::array<const char*, 5> kCandidates{"openmp", "cuda", "cuda-emulated", "mpi", "reference"};

/// The shared library of a candidate; throws InvalidCandidate where a name stands for none.
std::filesystem::path library_of(const std::string& name);

/// Calls of a candidate's kernels until now.
struct CallCounts {
  std::size_t all = 0, second_thread = 0;
};

/// Kernels to be judged, each matched with its equation, and the host that calls them.
class Candidate {
public:
  /// One of kCandidates, "fault:ID.NAME" or "order:NAME" (globs; "fault:ID.NAME@X": X times the amplitude of
  /// a fault that has one), or the path of a shared library. Throws InvalidCandidate where there is no such candidate,
  /// or its table is not one. Kernels of several ranks run on so many.
  explicit Candidate(const std::string& name, Index ranks = kRanks);

  /// Kernels that run elsewhere than in a plugin, by a name for messages; throws InvalidCandidate where their table is
  /// not one.
  Candidate(const std::string& name, std::unique_ptr<Host> host);

  const std::string& name() const { return name_; }
  Host& host() { return *host_; }
  const Host& host() const { return *host_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }

  /// The host's call, counted.
  Response call(std::size_t kernel, const Request& request, const CallOptions& options);
  const CallCounts& calls() const { return calls_; }

private:
  std::string name_;
  std::unique_ptr<Host> host_;
  std::vector<Kernel> kernels_;
  CallCounts calls_;
};

}  // namespace attest::judge
