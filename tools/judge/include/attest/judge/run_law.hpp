// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attest/golden/profile.hpp"
#include "attest/judge/capabilities.hpp"
#include "attest/judge/laws.hpp"

namespace attest::judge {

/// Outcome of a law (or property) over drawn problems.
struct LawRun {
  int draws = 0;                      // problems that the law judged; where it did not apply, another one was drawn
  std::optional<std::string> broken;  // what was seen in the smallest problem that breaks it
  std::string query;                  // of that problem
  std::optional<std::string> note;    // what was seen beyond what the equation is about
};

/// Tries one law (or property) on something that evaluates problems, over `draws` drawn problems that lie within the
/// capabilities, the form's condition and the claim's. A problem that breaks it is shrunk, but where the evaluation
/// threw. The same seed gives the same problems; there is no state beside the arguments, so laws may run on many
/// threads.
///
/// Method: property-based testing (Claessen and Hughes, QuickCheck, ICFP 2000) with RapidCheck's generators and
/// shrinking. RapidCheck's own loop is not used: it prints, and it keeps what generators need in variables of the
/// process.
LawRun run_law(laws::Law law, const LawClaim& claim, const Spec& spec, const std::string& form,
               const Capabilities& capabilities, const golden::Profile& profile, const laws::Evaluate& evaluate,
               bool bitwise, int draws, std::uint64_t seed);

}  // namespace attest::judge
