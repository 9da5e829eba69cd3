// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::ponder_cost {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// One token that halts by the rule of the paper, over at most T steps: 2 <= n + R <= T + 1, and 2 for a token that
/// halts at its first step.
inline Finding halting(const Context& c) {
  if (c.problem.sizes.at("n") == 0) return Finding::not_applicable();
  constexpr Index kMost = 8, kWhole = 64;  // T; probabilities are multiples of 1/64, and eps is less than one
  Problem one = laws::take_rows(c.problem, "n", {0});
  one.parameters["tau"] = 1.0;
  Index used = 0, step = 1;
  for (;; ++step) {
    const Index p = laws::choose(c, static_cast<std::uint64_t>(step), kWhole + 1);
    if (step == kMost || used + p >= kWhole) break;
    used += p;
  }
  one.inputs.at("steps").values[0] = static_cast<double>(step);
  one.inputs.at("remainders").values[0] = 1 - static_cast<double>(used) / kWhole;
  const Outcome outcome = c.evaluate(one);
  const double cost = outcome.values.at("cost").values[0], bound = outcome.bounds().at("cost").values[0];
  if (!(cost >= 2 - bound && cost <= kMost + 1 + bound) || (step == 1 && !(std::abs(cost - 2) <= bound)))
    return Finding::broken("a token that halts at step " + std::to_string(step) + " costs " + std::to_string(cost));
  return {};
}

/// Twice the tau, twice the cost.
inline Finding linearity_tau(const Context& c) {
  Problem once = c.problem, twice = c.problem;
  once.parameters["tau"] = 0.375, twice.parameters["tau"] = 0.75;
  const Outcome a = c.evaluate(once), b = c.evaluate(twice);
  Array expected = a.values.at("cost"), bound = a.bounds().at("cost");
  expected.values[0] *= 2, bound.values[0] *= 2;
  return laws::same(c, "cost", b.values.at("cost"), b.bounds().at("cost"), expected, bound, "twice the tau");
}

inline std::vector<laws::Property> properties() { return {{"halting", halting}, {"linearity_tau", linearity_tau}}; }

}  // namespace attest::properties::objective::ponder_cost
