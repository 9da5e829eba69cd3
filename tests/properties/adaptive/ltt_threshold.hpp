// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::ltt_threshold {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double accepted(const Context& c, const Problem& problem) {
  const Outcome outcome = c.evaluate(problem);
  return outcome.values.at("accepted").values[0];
}

/// The second accepts at least as many as the first.
inline Finding no_fewer(const Context& c, const Problem& problem, const Problem& other, const char* what) {
  const double before = accepted(c, problem), after = accepted(c, other);
  if (after >= before) return {};
  return Finding::broken(std::to_string(before) + " candidates are accepted, and " + std::to_string(after) + " with " +
                         what);
}

/// A parameter between its value and 1.
inline Finding larger(const Context& c, const char* name, const char* what) {
  Problem other = c.problem;
  other.parameters[name] = (1 + std::get<double>(*setting(c.problem, name))) / 2;
  return no_fewer(c, c.problem, other, what);
}
inline Finding delta_monotone(const Context& c) { return larger(c, "delta", "a larger delta"); }
inline Finding eps_monotone(const Context& c) { return larger(c, "eps", "a larger eps"); }

inline Finding duplication(const Context& c) {
  std::vector<Index> twice;
  for (Index i = 0; i < c.problem.sizes.at("n"); ++i) twice.insert(twice.end(), {i, i});
  return no_fewer(c, c.problem, laws::take_rows(c.problem, "n", twice), "every sample twice");
}

/// Other losses behind the first failure leave the choice.
inline Finding first_failure_stops(const Context& c) {
  const Outcome plain = c.evaluate(c.problem);
  const auto first = static_cast<std::size_t>(plain.values.at("accepted").values[0]) + 1;
  Problem other = c.problem;
  auto& losses = other.inputs.at("losses").values;
  const auto samples = static_cast<std::size_t>(c.problem.sizes.at("n"));
  if (first * samples >= losses.size()) return Finding::not_applicable();
  std::fill(losses.begin() + static_cast<std::ptrdiff_t>(first * samples), losses.end(), 0.0);
  const Outcome changed = c.evaluate(other);
  for (const char* name : {"accepted", "threshold"}) {
    const auto finding = laws::identical(c, name, plain, changed, "losses of 0 behind the first failure");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Losses of 1 for the first candidate.
inline Finding no_gap_no_accept(const Context& c) {
  Problem problem = c.problem;
  auto& losses = problem.inputs.at("losses").values;
  std::fill(losses.begin(), losses.begin() + c.problem.sizes.at("n"), 1.0);
  const double count = accepted(c, problem);
  return count == 0 ? Finding{}
                    : Finding::broken(std::to_string(count) + " candidates are accepted, the first of risk 1");
}

inline std::vector<laws::Property> properties() {
  return {{"delta_monotone", delta_monotone},
          {"eps_monotone", eps_monotone},
          {"duplication", duplication},
          {"first_failure_stops", first_failure_stops},
          {"no_gap_no_accept", no_gap_no_accept}};
}

}  // namespace attest::properties::adaptive::ltt_threshold
