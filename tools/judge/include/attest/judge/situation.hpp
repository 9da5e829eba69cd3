// SPDX-License-Identifier: MIT
#pragma once

#include "attest/golden/case.hpp"
#include "attest/judge/capabilities.hpp"

namespace attest::judge {

/// The call that a case stands for, as far as conditions can be about it.
Situation situation_of(const golden::Case& name);

}  // namespace attest::judge
