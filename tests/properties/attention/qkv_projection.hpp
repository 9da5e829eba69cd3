// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::qkv_projection {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// With the identity as its weight (f = d) a projection leaves every bit.
inline Finding identity_weight(const Context& c) {
  Problem problem = c.problem;
  const Index f = problem.sizes.at("f");
  problem.sizes.at("d") = f;
  Array identity{{f, f}, std::vector<double>(static_cast<std::size_t>(f * f))};
  for (Index a = 0; a < f; ++a) identity.values[static_cast<std::size_t>(a * f + a)] = 1;
  problem.inputs.at("w_q") = problem.inputs.at("w_k") = identity;
  const Outcome outcome = c.evaluate(problem);
  for (const auto& [output, input] : {std::pair("q", "x"), std::pair("k", "x_kv")}) {
    Outcome expected;
    expected.values[output] = problem.inputs.at(input);
    expected.bounds = [bounds = Arrays{{output, outcome.bounds().at(output)}}]() -> const Arrays& { return bounds; };
    const auto finding = laws::identical(c, output, outcome, expected, "the identity as weight");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Tokens of zeros give zeros, bit for bit.
inline Finding zero_input(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"x", "x_kv"}) std::fill(problem.inputs.at(name).values.begin(), problem.inputs.at(name).values.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  for (const auto& [name, array] : outcome.values)
    for (const double y : array.values)
      if (y != 0) return Finding::broken(name + " is not 0 for tokens of zeros");
  return {};
}

inline std::vector<laws::Property> properties() { return {{"identity weights", identity_weight}, {"zero tokens", zero_input}}; }

}  // namespace attest::properties::attention::qkv_projection
