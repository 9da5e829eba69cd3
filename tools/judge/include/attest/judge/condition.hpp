// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attest/judge/regimes.hpp"

namespace attest::judge {

/// Under which conditions a kernel fails, found by calls: a failing setting is made plain, one axis after another, as
/// long as the kernel goes on failing. What is left is needed: without any one of it the kernel passes. A. Zeller and
/// R. Hildebrandt, Simplifying and isolating failure-inducing input, IEEE Trans. Software Eng. 28 (2002), 183-200.
struct FailingCondition {
  std::string text;  // "heads > 1 and S = given"; empty where no axis is needed
  int calls = 0;
};

/// `fails` calls the kernel at a setting, with other inputs each time; nothing where that tells nothing. At most so
/// many calls: what they leave untried is not part of the condition.
FailingCondition condition_by_calls(const Regimes& regimes, Setting failing, int most_calls,
                                    const std::function<std::optional<bool>(const Setting&)>& fails);

}  // namespace attest::judge
