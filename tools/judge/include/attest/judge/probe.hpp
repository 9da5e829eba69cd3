// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/candidate.hpp"
#include "attest/judge/judge_regimes.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// Reads the weights of a value kernel that failed and sets row.map, where the equation's output is a sum of rows of an
/// input, each times a weight: with a one in one row of each column, each element of the output is one weight. Of the
/// cases that failed a few are tried, small ones first, until sentences tell what is wrong: about 40 calls of each, and
/// some two seconds in all. Does nothing for a kernel that passed, crashed or only refused.
void probe(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Known& known,
           const CheckOptions& options, Row& row);

}  // namespace attest::judge
