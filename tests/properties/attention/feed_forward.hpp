// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::feed_forward {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Without biases twice the tokens give twice the output, unless the activation bends elsewhere than at 0.
inline Finding homogeneous(const Context& c) {
  if (std::get<std::string>(*setting(c.problem, "activation")) == "gelu_tanh") return Finding::not_applicable();
  Problem plain = c.problem;
  plain.inputs.erase("b_1");
  plain.inputs.erase("b_2");
  Problem doubled = plain;
  for (double& x : doubled.inputs.at("x").values) x *= 2;
  const Outcome once = c.evaluate(plain), twice = c.evaluate(doubled);
  Array expected = once.values.at("y"), allowed = once.bounds().at("y");
  for (double& y : expected.values) y *= 2;
  for (double& bound : allowed.values) bound *= 2;
  return laws::same(c, "y", twice.values.at("y"), twice.bounds().at("y"), expected, allowed, "doubled tokens");
}

/// w_2 = 0 leaves b_2, or 0 where there is none.
inline Finding zero_weights(const Context& c) {
  Problem problem = c.problem;
  auto& w_2 = problem.inputs.at("w_2").values;
  std::fill(w_2.begin(), w_2.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  const auto b_2 = problem.inputs.find("b_2");
  const auto d = static_cast<std::size_t>(problem.sizes.at("d"));
  Array expected = outcome.values.at("y"), zero = expected;
  for (std::size_t t = 0; t < expected.values.size(); ++t) {
    expected.values[t] = b_2 == problem.inputs.end() ? 0 : b_2->second.values[t % d];
    zero.values[t] = 0;
  }
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), expected, zero, "w_2 = 0");
}

inline std::vector<laws::Property> properties() {
  return {{"homogeneous", homogeneous}, {"zero_weights", zero_weights}};
}

}  // namespace attest::properties::attention::feed_forward
