// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace attest::judge {

/// True where a pattern with * (any text) and ? (any character) matches the whole text.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace attest::judge
