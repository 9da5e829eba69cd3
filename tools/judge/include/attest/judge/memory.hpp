// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "attest/judge/host.hpp"

namespace attest::judge {

/// A tensor as it lies in a buffer. What is no part of it holds NaN, -1 or true, so that a kernel shows that it reads
/// the buffer without the strides.
struct View {
  std::vector<std::byte> buffer;
  std::size_t offset = 0;      // of the first element, in bytes
  std::vector<Index> strides;  // in elements
};

/// Whether rows of elements follow each other, as in a tensor of its own.
bool is_contiguous(std::string_view memory);

/// The tensor in memory of that kind: one of golden::kMemories, or empty for a dense one. `number` is that of the input
/// in its call: "mixed" gives each another kind. Rows of "padded" and the first element of "offset" stay multiples of
/// `alignment` bytes (0: of the element).
View laid_out(const InputTensor& tensor, std::string_view memory, std::size_t number, std::size_t alignment);

}  // namespace attest::judge
