// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/judge/statistics.hpp"

namespace attest::judge {

/// What all wrong elements of these cases have in common, a sentence an output and pattern, the most telling first:
/// they are 0, or one number, or an input as it is; they stand elsewhere in the output; they are off by one factor, or
/// by one a row; they are right to so many bits; all of them are too large; and beside the right ones: where an input,
/// or the value that is due, is below or above a limit. A sentence holds for each of the wrong elements; empty where
/// none does.
std::vector<std::string> what_values_show(const std::vector<const Sample*>& failing,
                                          const std::vector<const Sample*>& passing, const golden::Profile& profile);

}  // namespace attest::judge
