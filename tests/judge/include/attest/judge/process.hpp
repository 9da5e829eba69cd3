// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "attest/array.hpp"

namespace attest::judge {

/// A plugin that cannot be judged at all: missing, not a library, no symbol, another ABI version, a malformed table,
/// or one that dies while it is loaded. The message says which and what is allowed.
class InvalidCandidate : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// One row of a plugin's kernel table, copied out of the child process.
struct KernelInfo {
  std::string equation;
  std::string form;
  std::string reading;  // "value" or "gradient"
  DType dtype = DType::f64;
  std::string device;  // "cpu" or "cuda"
  std::string layout;  // "nd", "bhnd" or "bnhd"
  std::string capabilities;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::f64;
  std::vector<Index> shape;
};

struct InputTensor : TensorSpec {
  std::vector<std::byte> bytes;  // row-major, size_of(dtype) per element
};

struct ParameterValue {
  std::string name;
  bool given = true;
  double real = 0;
  std::int64_t integer = 0;
  std::string text;
};

/// One call of one kernel.
struct Request {
  std::string equation;
  std::string form;
  std::vector<InputTensor> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<ParameterValue> parameters;
};

/// Where tensors lie against their guard pages. At the end: at addresses that no call had before, so that a thread which
/// outlives its call hits nothing. At the start: where all such calls had theirs, as under an allocator that hands out
/// memory again.
enum class Placement { end_at_guard, start_at_guard };

struct CallOptions {
  Placement placement = Placement::end_at_guard;
  std::size_t alignment = 0;  // bytes; 0: natural alignment of the element
  unsigned char poison = 0xff;  // every byte of outputs, workspace and slack before the call (0xff.. is NaN in all float types)
  std::chrono::milliseconds time_limit{20000};
};

/// What one call did. `finished` is false when the child died, hung or refused.
struct Response {
  enum class End { finished, kernel_error, crashed, hung };
  End end = End::finished;
  std::string message;                          // what happened, naming the tensor and element where known
  std::vector<std::vector<std::byte>> outputs;  // as the kernel left them, in the order of the request; empty unless finished
  std::vector<std::string> violations;          // contract broken without dying: slack overwritten (which tensor, which byte)
};

/// A plugin loaded into a child process. The child never sees expected values, has no golden files open, shares only
/// the tensors of the call, and is replaced by a fresh one after it dies. Inputs are mapped read-only and every tensor
/// (and the workspace) lies between two inaccessible pages.
class PluginProcess {
public:
  /// Loads the library in a child; throws InvalidCandidate.
  explicit PluginProcess(const std::filesystem::path& library);
  ~PluginProcess();
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  const std::string& name() const;
  const std::string& version() const;
  const std::vector<KernelInfo>& kernels() const;

  /// Runs kernel number `kernel` once. Never throws for anything that the kernel does.
  Response call(std::size_t kernel, const Request& request, const CallOptions& options = {});

  /// Gives threads that outlived the last calls some time to do harm; the violations that this brought to light.
  std::vector<std::string> settle(std::chrono::milliseconds patience);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Entry of the child: call it first in main() of every program that uses PluginProcess. Returns when this process is
/// not a worker; otherwise serves calls and exits.
void serve_if_worker(int argc, char** argv);

}  // namespace attest::judge
