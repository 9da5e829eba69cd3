// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/emulated/block.hpp"

#include <sstream>

/// The texts of reports are put together from these parts.

namespace attest::cuda::emulation {

/// Lanes of a warp, written as 0-15,31.
struct Lanes {
  std::uint32_t mask;
};
inline std::ostream& operator<<(std::ostream& out, uint3 i) {
  return out << '(' << i.x << ',' << i.y << ',' << i.z << ')';
}
inline std::ostream& operator<<(std::ostream& out, Location where) { return out << "line " << where.line; }
inline std::ostream& operator<<(std::ostream& out, Lanes lanes) {
  const char* comma = "";
  for (unsigned first = 0; first < warp_width; ++first) {
    if (!(lanes.mask >> first & 1)) continue;
    const auto length = static_cast<unsigned>(std::countr_one(lanes.mask >> first));
    out << comma << first;
    if (length > 1) out << '-' << first + length - 1;
    first += length;
    comma = ",";
  }
  return out;
}
template <class... Parts>
std::string sentence(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace attest::cuda::emulation
