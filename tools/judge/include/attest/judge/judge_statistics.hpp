// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/judge/bank.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// Tier T3 and the guard against vacuous cases, over all that a kernel gave; names what is wrong. Adds to the row.
/// `tests` is the number of score tests in the whole run, by which p is corrected.
void judge_statistics(Bank& bank, const std::vector<Sample>& samples, double tests, Row& row);

}  // namespace attest::judge
