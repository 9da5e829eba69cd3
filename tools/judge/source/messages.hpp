// SPDX-License-Identifier: MIT
// The parent's messages to a worker, and the table that the worker sends first. Private to the judge.
#pragma once

#include <cstdint>
#include <vector>

#include "attest/judge/host.hpp"
#include "protocol.hpp"
#include "regions.hpp"

namespace attest::judge {

/// Where a region lies, for the child to map it.
protocol::Json place_message(const Region& region);

/// The request to run kernel number `kernel`, as call number `call` of this plugin.
protocol::Json call_message(std::uint64_t call, std::size_t kernel, const Request& request,
                            const std::vector<Region>& regions, bool second_thread);

/// The kernels of the table that a worker sends when it has loaded the plugin. Throws Json::exception, or
/// std::invalid_argument, where it is none that a worker sends.
std::vector<KernelInfo> kernels_of_table(const protocol::Json& table);

}  // namespace attest::judge
