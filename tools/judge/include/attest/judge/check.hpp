// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>

#include "attest/judge/candidate.hpp"
#include "attest/judge/options.hpp"
#include "attest/judge/report.hpp"

namespace attest::judge {

/// The profile that a kernel is judged by: the options' one, or its own.
const golden::Profile& profile_for(const Kernel& kernel, const CheckOptions& options);

/// Whether a kernel can be judged by a profile: its tensors have the profile's storage format.
bool can_claim(const Kernel& kernel, const golden::Profile& profile);

using Another = std::function<std::unique_ptr<Candidate>()>;

/// Judges every kernel of a candidate that the options name: contract (T0), exact families (T1), bounds (T2),
/// statistics (T3), laws and properties.
/// Where `another` makes the same candidate once more, equations are judged side by side, each thread calling one of
/// its own.
Report check(Candidate& candidate, const CheckOptions& options, const Progress& progress = {},
             const Another& another = {});

}  // namespace attest::judge
