// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/bank.hpp"
#include "attest/judge/candidate.hpp"
#include "attest/judge/contract.hpp"
#include "attest/judge/judge_regimes.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {

/// Fewer cases than this are no evidence: the verdict is INVALID. Two cases may share one coincidence, such as the one
/// size at which a kernel is right.
inline constexpr int kFewestCases = 3;

/// The row of a kernel before anything is judged.
Row row_of(const Kernel& kernel, const golden::Profile& profile);

/// Judges what a source gives for the selected cases: contract, exact families, bounds, statistics (of a value kernel),
/// and whether the cases prove enough. `tests` is the number of score tests in the whole run.
Row judge_selection(const Kernel& kernel, const golden::Profile& profile, Selection selection, const Source& source,
                    Bank& bank, const CheckOptions& options, double tests);

/// Judges one kernel of a candidate by the selected cases and, where nothing failed but what was refused, in every
/// regime; then, where nothing was refused either, by laws and properties.
Row judge_kernel(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, Selection selection,
                 Bank& bank, Known& known, const CheckOptions& options, double tests);

/// Adds to the row of the last call what comes to light after it: threads that went on and wrote outside of a tensor.
void settle(Candidate& candidate, Row& last);

}  // namespace attest::judge
