// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace attest::cli {

/// A spec's formula in TeX, as GitHub and KaTeX take it: one line of an aligned environment for each part that ends
/// with ";" or "," and two blanks. Names of one letter and Greek ones are set as such, words upright.
std::string tex_of(std::string_view formula);

}  // namespace attest::cli
