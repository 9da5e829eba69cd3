// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::decision_loss {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with every step counted.
inline Problem all_counted(const Context& c) {
  Problem problem = c.problem;
  problem.inputs.erase("mask");
  return problem;
}

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(all_counted(c));
  const double loss = outcome.values.at("loss").values[0], bound = outcome.bounds().at("loss").values[0];
  return loss >= -bound ? Finding{} : Finding::broken("the loss is " + std::to_string(loss));
}

/// The mean square of no differences is 0, with nothing to round.
inline Finding perfect(const Context& c) {
  if (setting(c.problem, "kind") != ParameterSetting(std::string("mse"))) return Finding::not_applicable();
  Problem same = all_counted(c);
  same.inputs.at("predictions") = same.inputs.at("actions");
  const Outcome outcome = c.evaluate(same);
  const Array nothing{{}, {0.0}};
  return laws::same(c, "loss", outcome.values.at("loss"), nothing, nothing, nothing, "the actions themselves");
}

inline std::vector<laws::Property> properties() { return {{"non_negative", non_negative}, {"perfect", perfect}}; }

}  // namespace attest::properties::objective::decision_loss
