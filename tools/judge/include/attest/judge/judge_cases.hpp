// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "attest/judge/contract.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"
#include "attest/judge/select.hpp"

namespace attest::judge {

/// Judges what a source gives for the selected cases: the contract (T0), exact families (T1), bounds (T2). Adds counts,
/// errors and failures to the row, and to `samples` the outputs of each case (they point to the selection's cases).
/// Ends where it gives up: a kernel that crashed twice does so again, at the cost of the whole time limit each time,
/// and one without a device has none in the next case.
void judge_cases(const Kernel& kernel, const golden::Profile& profile, const Selection& selection, const Source& source,
                 const CheckOptions& options, Row& row, std::vector<Sample>& samples);

/// Whether further calls would tell nothing more, or cost too much: after two crashes, or without a device.
bool gives_up(const Row& row);

/// True when the run is to end; the row says so then.
bool ended(const CheckOptions& options, Row& row);

}  // namespace attest::judge
