// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::early_exit {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Every token leaves after that layer, for confidences of at least 0 and thresholds that are all tau.
inline Finding all_leave_after(const Context& c, double tau, Index layer) {
  Problem problem = c.problem;
  for (double& x : problem.inputs.at("c").values) x = std::abs(x);
  std::fill(problem.inputs.at("tau").values.begin(), problem.inputs.at("tau").values.end(), tau);
  const Outcome outcome = c.evaluate(problem);
  for (const double exit : outcome.values.at("exit").values)
    if (exit != static_cast<double>(layer))
      return Finding::broken("thresholds of " + std::to_string(tau) + " let a token leave after layer " +
                             std::to_string(exit));
  return {};
}
inline Finding zero_threshold(const Context& c) { return all_leave_after(c, 0, 1); }
inline Finding unreachable(const Context& c) { return all_leave_after(c, 16384, c.problem.sizes.at("n")); }

inline Finding monotone(const Context& c) {
  Problem high = c.problem;
  for (double& tau : high.inputs.at("tau").values) tau = tau > 0 ? 2 * tau : tau / 2;
  const auto low_exits = c.evaluate(c.problem).values.at("exit").values,
             high_exits = c.evaluate(high).values.at("exit").values;
  for (std::size_t t = 0; t < low_exits.size(); ++t)
    if (high_exits[t] < low_exits[t]) return Finding::broken("a higher threshold leads to an earlier exit");
  return {};
}

/// What comes after the exit of a token is not read.
inline Finding prefix(const Context& c) {
  const Outcome plain = c.evaluate(c.problem);
  Problem other = c.problem;
  const Array fresh = laws::redrawn(c, "c", 1);
  const auto layers = static_cast<std::size_t>(c.problem.sizes.at("n"));
  for (std::size_t i = 0; i < fresh.values.size(); ++i)
    if (static_cast<double>(i % layers) >= plain.values.at("exit").values[i / layers])
      other.inputs.at("c").values[i] = fresh.values[i];
  return laws::identical(c, "exit", plain, c.evaluate(other), "other confidences after the exit");
}

inline std::vector<laws::Property> properties() {
  return {{"zero_threshold", zero_threshold}, {"unreachable", unreachable}, {"monotone", monotone}, {"prefix", prefix}};
}

}  // namespace attest::properties::adaptive::early_exit
