// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attest/golden/profile.hpp"
#include "attest/golden/store.hpp"
#include "attest/judge/bank.hpp"
#include "attest/judge/capabilities.hpp"

namespace attest::judge {

/// The cases that a kernel is judged by; their bounds hold for the profile.
struct Selection {
  std::vector<golden::GoldenCase> cases;  // those stored, then those drawn
  int stored = 0, drawn = 0;
  std::map<std::string, int> skipped{};   // by flag
  std::map<std::string, int> left_out{};  // the same and those of other flags, by reason

  /// Leaves the cases for which `keep` is true; the others are skipped for that reason.
  void keep_if(const std::string& reason, const std::function<bool(const golden::GoldenCase&)>& keep);
  /// Leaves that many cases, the first of every flag before the second of any.
  void limit(int most);
  /// Leaves out the drawn cases that prove nothing. A stored one is a mistake of this project and makes the run
  /// invalid.
  void drop_vacuous_drawn(Bank& bank);
};

/// Those of `stored` that the kernel can do; then drawn ones, moved to the nearest sizes and parameters that it can do,
/// where few fit; then a few fresh ones, whose inputs come from `seed` and are in no file.
Selection select(const Spec& spec, const std::string& form, const Capabilities& capabilities,
                 const golden::Profile& profile, const std::vector<golden::GoldenCase>& stored, std::uint64_t seed = 1,
                 bool gradients = false);

/// Whether a form exists for those sizes and parameters; one that the equation does not list always does.
bool form_applies(const Spec& spec, const std::string& form, const Sizes& sizes, const Parameters& parameters);

/// False where an output is NaN by convention, so that nothing says what its gradient is, or where a gradient is beyond
/// what the profile can store.
bool has_gradient(const golden::CertifiedTensors& results, const golden::Profile& profile);

/// The case certified without witnesses; nothing where its inputs break a condition on data, are not of the profile, or
/// give a value that lies midway between two numbers, so that no precision decides how it is stored.
std::optional<golden::GoldenCase> certified_now(const golden::Case& c, const golden::Profile& profile, bool gradients);

}  // namespace attest::judge
