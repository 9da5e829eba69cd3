// SPDX-License-Identifier: MIT
// The memory of one call: where each tensor lies between its guards, and whether anything around it was changed.
// Private to the judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attest/judge/host.hpp"
#include "attest/judge/memory.hpp"
#include "protocol.hpp"

namespace attest::judge {

/// "1 byte", "2 bytes".
std::string plural(std::uint64_t number, const char* noun);

/// "read", "wrote", or both where the machine does not tell.
std::string verb(protocol::Access access);

enum class Role { input, output, workspace };

/// Where a tensor lies: `size` bytes from `front` on in a run of `mapped` bytes (whole pages, or none) that is at
/// `file` in the shared memory and at `address` in the child.
struct Region {
  Role role = Role::input;
  TensorSpec spec;
  std::vector<Index> strides{};  // in elements
  std::size_t size = 0;          // of its buffer, where it is a view
  std::size_t data = 0;          // of the first element in it
  std::size_t front = 0;
  std::size_t mapped = 0;
  std::size_t file = 0;
  std::uint64_t address = 0;

  std::uint64_t begin() const { return address + front; }
  std::uint64_t end() const { return begin() + size; }

  /// "input 'q' [3, 4] float32".
  std::string text() const;

  /// The element, or the byte of a workspace, at an address inside: "element (1, 2)".
  std::string element(std::uint64_t at) const;
};

/// A part of the child's address space that tensors are placed in, from its begin again when it is full.
struct AddressRange {
  std::uint64_t begin = 0;
  std::size_t size = 0;
  std::size_t used = 0;

  /// The next place that a region of `mapped` bytes fits in with its guards. Throws std::length_error.
  std::uint64_t take(std::size_t mapped);
};

/// Lays out the regions of one call, one behind the other in the shared memory. `slack` is the number of bytes that are
/// mapped on either side of a tensor where there are no guard pages.
class Layout {
public:
  Layout(const CallOptions& options, std::size_t slack);

  /// Places an input, whose bytes must be those of its shape and which lies in its buffer as `view` says, or an output.
  /// Throws std::invalid_argument.
  Region input(const InputTensor& tensor, const View& view);
  Region output(const TensorSpec& tensor);
  Region workspace(std::size_t size);

  /// End of the last region in the shared memory.
  std::size_t file_end() const { return file_end_; }

private:
  Region place(Role role, TensorSpec spec, std::size_t size);

  const CallOptions& options_;
  std::size_t slack_;
  std::size_t file_end_;
};

/// Adds a violation for each side of the tensor on which bytes outside of it are no longer poison. `bytes` are the
/// region's, from its first mapped byte on.
void check_slack(const Region& region, const unsigned char* bytes, unsigned char poison,
                 std::vector<std::string>& violations);

/// "read 4 bytes past the end of input 'q' ..."; nothing when the address is in none of the regions nor next to one.
std::optional<std::string> describe_access(const std::vector<Region>& regions, std::uint64_t at,
                                           protocol::Access access);

}  // namespace attest::judge
