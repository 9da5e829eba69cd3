// SPDX-License-Identifier: MIT
// The parent's messages to a worker, and the table that the worker sends first. Private to the judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attest/judge/host.hpp"
#include "bytes.hpp"
#include "protocol.hpp"
#include "regions.hpp"

namespace attest::judge {

ATTEST_MEMBERS(ParameterValue, name, given, real, integer, text)

/// Where a region lies, for the child to map it.
struct Place {
  std::uint64_t address = 0;
  std::size_t size = 0;  // bytes
  std::size_t file = 0;  // offset in the shared memory
};
ATTEST_MEMBERS(Place, address, size, file)

Place place_of(const Region& region);

struct TensorMessage {
  std::string name{};
  DType dtype{};
  std::vector<Index> shape{}, strides{};  // strides in elements
  Place place{};
  std::size_t first = 0;  // offset of the first element from the address, in bytes
  bool input = false;
};
ATTEST_MEMBERS(TensorMessage, name, dtype, shape, strides, place, first, input)

/// The request to run kernel number `kernel`, as call number `call` of this plugin.
struct CallMessage {
  std::uint64_t call = 0;
  std::size_t kernel = 0;
  std::string equation{}, form{};
  std::vector<TensorMessage> tensors{};
  std::vector<ParameterValue> parameters{};
  bool second_thread = false;
};
ATTEST_MEMBERS(CallMessage, call, kernel, equation, form, tensors, parameters, second_thread)

/// The answer to a kernel that asks for a workspace.
struct WorkspaceMessage {
  bool refused = false;
  Place place{};
  std::size_t first = 0;  // offset of the workspace from the address
};
ATTEST_MEMBERS(WorkspaceMessage, refused, place, first)

CallMessage call_message(std::uint64_t call, std::size_t kernel, const Request& request,
                         const std::vector<Region>& regions, bool second_thread);

/// The kernels of the table that a worker sends when it has loaded the plugin. Throws Json::exception, or
/// std::invalid_argument, where it is none that a worker sends.
std::vector<KernelInfo> kernels_of_table(const protocol::Json& table);

}  // namespace attest::judge
