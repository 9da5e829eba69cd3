// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::sticky_sampling {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Finding sum_to_one(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  double total = 0, allowed = 0x1p-48;
  for (const double p : outcome.values.at("p").values) total += p;
  for (const double bound : outcome.bounds().at("p").values) allowed += bound;
  if (std::abs(total - 1) <= allowed) return {};
  return Finding::broken("the histogram sums to " + std::to_string(total));
}

/// Points ascend, and do so in any order of the numbers.
inline Finding order_of_numbers(const Context& c) {
  const Problem& problem = c.problem;
  const auto& w = problem.inputs.at("w").values;
  Problem reversed = problem;
  std::reverse_copy(w.begin(), w.end(), reversed.inputs.at("w").values.begin());
  const Outcome outcome = c.evaluate(problem), other = c.evaluate(reversed);
  const auto &u = outcome.values.at("u"), &again = other.values.at("u");
  if (!std::is_sorted(u.values.begin(), u.values.end())) return Finding::broken("the points do not ascend");
  return laws::same(c, "u", u, outcome.bounds().at("u"), again, other.bounds().at("u"), "w in another order");
}

/// All densities inside of one bin: its left end.
inline Finding concentration(const Context& c) {
  Problem problem = c.problem;
  problem.sizes["bins"] = 8;
  problem.parameters["outward"] = 0.0;
  std::fill(problem.inputs.at("mu").values.begin(), problem.inputs.at("mu").values.end(), 0.6875);
  std::fill(problem.inputs.at("sigma").values.begin(), problem.inputs.at("sigma").values.end(), 0x1p-8);
  auto& w = problem.inputs.at("w").values;
  for (double& x : w) x = std::clamp(x, 0x1p-5, 1 - 0x1p-5);
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("u"), zero = expected;
  std::fill(expected.values.begin(), expected.values.end(), 0.625);
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "u", outcome.values.at("u"), outcome.bounds().at("u"), expected, zero, "densities in one bin");
}

inline Finding range(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  for (const double u : outcome.values.at("u").values)
    if (!(u >= 0 && u < 1)) return Finding::broken("u = " + std::to_string(u) + " lies outside of [0, 1)");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"sum_to_one", sum_to_one},
          {"order_of_numbers", order_of_numbers},
          {"concentration", concentration},
          {"range", range}};
}

}  // namespace attest::properties::infty::sticky_sampling
