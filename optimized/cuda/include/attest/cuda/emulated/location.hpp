// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace attest::cuda::emulation {

/// std::source_location in little: it takes 12 bytes in the record of each shared cell, and clang 14 has no std::source_location.
struct Location {
  const char* file = "";
  std::uint32_t line = 0;
  static constexpr Location current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace attest::cuda::emulation
