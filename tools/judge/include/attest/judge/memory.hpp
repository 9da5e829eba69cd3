// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "attest/judge/host.hpp"

namespace attest::judge {

/// Whether rows of elements follow each other, as in a tensor of its own.
bool is_contiguous(std::string_view memory);

/// The tensor in memory of that kind: one of golden::kMemories, or empty for a dense one. `number` is that of the input
/// in its call: "mixed" gives each another kind. Rows of "padded" and the first element of "offset" stay multiples of
/// `alignment` bytes (0: of the element).
View laid_out(const InputTensor& tensor, std::string_view memory, std::size_t number, std::size_t alignment);

/// Gives the inputs of a request the views that these options ask for: made once for several calls.
void lay_out(Request& request, const CallOptions& options);

}  // namespace attest::judge
