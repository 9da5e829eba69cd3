// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/asked.hpp"
#include "attest/judge/judge_regimes.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {

/// Asks a kernel again what it has answered rightly, when all else is done: every case and regime `options.repeat`
/// times in all; then a few of them for the last time, from the thread of all other calls and from a second one.
/// Answers are judged as at first, and must have the bits that they had. Adds failures to the row.
void judge_again(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const Selection& selection,
                 Asked& asked, Known& known, const CheckOptions& options, Shown& shown, Row& row);

}  // namespace attest::judge
