// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>

#include "attest/judge/host.hpp"

namespace attest::judge {

/// A plugin that cannot be judged at all: missing, not a library, no symbol, another ABI version, a malformed table,
/// or one that dies while it is loaded. The message says which and what is allowed.
class InvalidCandidate : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The child could not do its own part of a call: no memory, no thread, no mapping. That is no fault of the plugin.
class WorkerFailure : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Ranks that a collective kernel is called on unless told otherwise: the fewest of which one is neither the first nor
/// the last.
inline constexpr Index kRanks = 3;

/// A plugin loaded into a child process. The child never sees expected values, has no golden files open, shares only
/// the tensors of the call, and is replaced by a fresh one after it dies. Inputs are mapped read-only and every tensor
/// (and the workspace) lies between two inaccessible pages. A device has no such pages: there, what lies in front of
/// and behind a tensor is looked at after the call, and so are the inputs.
class PluginProcess : public Host {
public:
  /// Loads the library in a child; throws InvalidCandidate. Kernels that run on several ranks are called by so many
  /// processes of an MPI job, which the first such call starts.
  explicit PluginProcess(const std::filesystem::path& library, Index ranks = kRanks);
  ~PluginProcess() override;
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  const std::string& name() const override;
  const std::string& version() const override;
  const std::vector<KernelInfo>& kernels() const override;
  Response call(std::size_t kernel, const Request& request, const CallOptions& options = {}) override;
  std::vector<std::string> settle(std::chrono::milliseconds patience) override;
  Index ranks() const override;
  bool places_outputs() const override { return true; }

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Entry of the child: call it first in main() of every program that uses PluginProcess. Returns when this process is
/// not a worker; otherwise serves calls and exits.
void serve_if_worker(int argc, char** argv);

}  // namespace attest::judge
