// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attest/array.hpp"

namespace attest::judge {

/// How a call lays tensors out; attest_kernel.h says what each means.
inline constexpr std::array<const char*, 5> kLayouts{"nd", "bhnd", "bnhd", "thd", "pkv"};

/// One row of a candidate's kernel table.
struct KernelInfo {
  std::string equation;
  std::string form;
  std::string reading;  // "value" or "gradient"
  DType dtype = DType::f64;
  std::string device;  // "cpu" or "cuda"
  std::string layout;  // one of kLayouts
  std::string capabilities;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::f64;
  std::vector<Index> shape;
  int token_axis = -1;   // along which ranks have parts of it; -1: each has all of it
  std::string tokens{};  // the equation's size along that axis
};

/// A tensor as it lies in a buffer. What is no part of it holds NaN, -1 or true, so that a kernel shows that it reads
/// the buffer without the strides.
struct View {
  std::vector<std::byte> buffer;
  std::size_t offset = 0;      // of the first element, in bytes
  std::vector<Index> strides;  // in elements
};

struct InputTensor : TensorSpec {
  std::vector<std::byte> bytes;  // row-major, size_of(dtype) per element
  bool is_table = false;         // of a layout, not of the equation: offsets, pages, lengths; always dense
  std::optional<View> view{};    // of `bytes`, as its calls' options ask for; without one each call makes its own
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
  bool collective = false;  // every rank is called, with its part of the tokens
  bool zigzag = false;      // a part may be two pieces of the sequence
};

/// Where tensors lie against their guard pages. At the end: at addresses that no call had before, so that a thread
/// which outlives its call hits nothing. At the start: where all such calls had theirs, as under an allocator that
/// hands out memory again.
enum class Placement { end_at_guard, start_at_guard };

struct CallOptions {
  Placement placement = Placement::end_at_guard;
  std::size_t alignment = 0;  // bytes; 0: natural alignment of the element
  unsigned char poison =
      0xff;  // every byte of outputs, workspace and slack before the call (0xff.. is NaN in all float types)
  std::chrono::milliseconds time_limit{20000};
  bool second_thread = false;            // called from another thread than those without, always the same
  std::string memory{};                  // how inputs lie, as in golden::Case
  std::uint64_t parts = 0;               // of a collective call: seed of how tokens are divided over the ranks
  std::optional<Index> all_tokens_on{};  // the rank that has all of them
};

/// Result of one call. There are outputs only when it finished. `refused`: the kernel returned an error, or threw;
/// `kernel_error`: what it asked for or handed back is none that a kernel may. `unavailable` is no fault of the kernel:
/// it has no device here.
struct Response {
  enum class End { finished, refused, kernel_error, crashed, hung, unavailable };
  End end = End::finished;
  std::string message;  // what happened, naming the tensor and element where known
  std::vector<std::vector<std::byte>>
      outputs;                          // as the kernel left them, in the order of the request; empty unless finished
  std::vector<std::string> violations;  // contract broken without dying: slack overwritten (which tensor, which byte)
};

/// Runs the kernels of a candidate, wherever they are: in a child process, or in the interpreter that the judge is
/// called from.
class Host {
public:
  virtual ~Host() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& version() const = 0;
  virtual const std::vector<KernelInfo>& kernels() const = 0;

  /// Runs kernel number `kernel` once. Never throws for anything that the kernel does.
  virtual Response call(std::size_t kernel, const Request& request, const CallOptions& options = {}) = 0;

  /// Waits so long for threads that outlived the last calls; returns the violations that they have caused.
  virtual std::vector<std::string> settle(std::chrono::milliseconds patience) = 0;

  /// How many processes call a collective kernel together.
  virtual Index ranks() const { return 1; }

  /// Whether outputs are written where the host put them, poisoned and between guard pages; otherwise kernels return
  /// them.
  virtual bool places_outputs() const = 0;
};

}  // namespace attest::judge
