// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::span_penalty {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// P >= 0 where lambda >= 0.
inline Finding non_negative(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["coefficient"] = 2.0;
  const Outcome outcome = c.evaluate(problem);
  const double penalty = outcome.values.at("penalty").values[0];
  return penalty >= 0 ? Finding{} : Finding::broken("penalty is " + std::to_string(penalty));
}

/// The result of `problem` is `factor` times that of `other`.
inline Finding times(const Context& c, const Problem& problem, double factor, const Problem& other,
                     const std::string& what) {
  const Outcome a = c.evaluate(problem), b = c.evaluate(other);
  Array expected = b.values.at("penalty"), bound = b.bounds().at("penalty");
  expected.values[0] *= factor, bound.values[0] = bound.values[0] * factor + 0x1p-52 * std::abs(expected.values[0]);
  return laws::same(c, "penalty", a.values.at("penalty"), a.bounds().at("penalty"), expected, bound, what);
}

/// P(-2 z) = 2 P(z)
inline Finding homogeneity(const Context& c) {
  Problem scaled = c.problem;
  for (double& x : scaled.inputs.at("z").values) x *= -2;
  return times(c, scaled, 2, c.problem, "spans times -2");
}

/// The sum is H times the mean.
inline Finding reduce_relation(const Context& c) {
  Problem sum = c.problem, mean = c.problem;
  sum.parameters["reduce"] = std::string("sum"), mean.parameters["reduce"] = std::string("mean");
  return times(c, sum, static_cast<double>(c.problem.sizes.at("h")), mean, "the sum against H times the mean");
}

inline std::vector<laws::Property> properties() {
  return {{"non_negative", non_negative}, {"homogeneity", homogeneity}, {"reduce_relation", reduce_relation}};
}

}  // namespace attest::properties::objective::span_penalty
