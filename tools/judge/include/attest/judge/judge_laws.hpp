// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/candidate.hpp"
#include "attest/judge/evaluate.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"
#include "attest/judge/run_law.hpp"

namespace attest::judge {

/// Tries every law that the kernel's equation claims, and its properties, on the kernel; adds to the row. Throws
/// SpecError where a claimed law does not exist.
void judge_laws(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile, const CheckOptions& options,
                LawBounds& bounds, LawSizes& sizes, Row& row);

}  // namespace attest::judge
