// SPDX-License-Identifier: MIT
#include "attest/judge/glob.hpp"

#include <cstddef>

namespace attest::judge {

// Only the last '*' can need another length: with what stands before it, the shortest match is as good as any.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, behind_star = std::string_view::npos, taken_up_to = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      behind_star = ++p;
      taken_up_to = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (behind_star != std::string_view::npos) {
      p = behind_star;
      t = ++taken_up_to;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace attest::judge
