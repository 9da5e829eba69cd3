// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "attest/judge/capabilities.hpp"
#include "attest/judge/report.hpp"
#include "attest/spec.hpp"

namespace attest::judge {

/// The capability by which a kernel would not have been asked for what it refused: conditions on one thing or two, as
/// few as possible, that exclude every refused call and no answered one. Where there are none, what all refused calls
/// and no answered ones have in common; else the condition on one thing or two that excludes every refused call and the
/// fewest answered ones. Empty where nothing was refused or answered, or where more than half of the answered calls
/// would be excluded.
std::string capability_without(const std::vector<Situation>& refused, const std::vector<Situation>& answered,
                               const Spec& spec);

/// Enters into `refusals` that capability, and how it parts the calls.
void propose(const std::vector<Situation>& refused, const std::vector<Situation>& answered, const Spec& spec,
             Refusals& refusals);

}  // namespace attest::judge
