// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace attest::cuda::emulation {

/// std::source_location in little, which clang 14 does not have.
struct Location {
  const char* file = nullptr;
  std::uint32_t line = 0;
  static constexpr Location current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace attest::cuda::emulation
