// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attest/golden/case.hpp"
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

/// Where sizes and parameters that laws draw were moved to, so that all conditions hold. Kernels of one equation are
/// tried on the same problems: what was searched for is kept until the equation changes.
class LawSizes {
public:
  using Moved = std::optional<std::pair<Sizes, Parameters>>;

  /// Capabilities::adapted() of the case.
  const Moved& of(const golden::Case& drawn, const Capabilities& wanted);

private:
  using Key = std::tuple<std::string, std::vector<Index>, Parameters, std::vector<std::string>>;

  const Spec* spec_ = nullptr;
  std::map<Key, Moved> known_;
};

/// Tries one law (or property) on something that evaluates problems, over `draws` drawn problems that lie within the
/// capabilities, the form's condition and the claim's. A problem that breaks it is shrunk, but where the evaluation
/// threw. The same seed gives the same problems; there is no state beside the arguments, so laws may run on many
/// threads, each with sizes of its own.
///
/// Method: property-based testing (Claessen and Hughes, QuickCheck, ICFP 2000) with RapidCheck's generators and
/// shrinking. RapidCheck's own loop is not used: it prints, and it keeps what generators need in variables of the
/// process.
LawRun run_law(laws::Law law, const LawClaim& claim, const Spec& spec, const std::string& form,
               const Capabilities& capabilities, const golden::Profile& profile, const laws::Evaluate& evaluate,
               bool bitwise, int draws, std::uint64_t seed, LawSizes* sizes = nullptr);

}  // namespace attest::judge
