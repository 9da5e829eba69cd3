// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <unordered_map>

#include "attest/judge/candidate.hpp"
#include "attest/judge/laws.hpp"
#include "attest/judge/options.hpp"

namespace attest::judge {

/// Error bounds of the problems that laws draw. Kernels of one equation are tried on the same ones: what was computed
/// is kept until the equation changes.
class LawBounds {
public:
  /// By output, in its shape.
  const Arrays& of(const Problem& problem, const golden::Profile& profile);

private:
  const Spec* spec_ = nullptr;
  std::unordered_map<std::string, Arrays> known_;  // by the profile and the problem's sizes, parameters and inputs
};

/// Evaluates problems with a kernel, for laws on it. Keeps references to all that it is given but options. The
/// evaluation throws laws::Refused where the kernel returned an error, std::runtime_error where it broke the contract
/// or died.
laws::Evaluate evaluate_with(Candidate& candidate, const Kernel& kernel, const golden::Profile& profile,
                             const CheckOptions& options, LawBounds& bounds);

/// Evaluates a form of the reference over certified enclosures (middle and radius), for laws on the reference itself.
laws::Evaluate over_enclosures(const std::string& form, long precision_bits = 192);

}  // namespace attest::judge
