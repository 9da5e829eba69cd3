// SPDX-License-Identifier: MIT
// Settings of regimes, for bytes.hpp. Private to the judge.
#pragma once

#include "attest/judge/covering.hpp"
#include "bytes.hpp"

namespace attest::judge {

ATTEST_MEMBERS(Setting, level, member)
ATTEST_MEMBERS(Combination, axes, levels)
ATTEST_MEMBERS(Uncovered, combination, why, proven)
ATTEST_MEMBERS(Covering, settings, combinations, uncovered, left_out)

}  // namespace attest::judge
