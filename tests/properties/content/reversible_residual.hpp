// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::content::reversible_residual {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// F = 0 and G = 0 leave every bit of both streams.
inline Finding zero_functions(const Context& c) {
  for (const char* direction : {"forward", "inverse"}) {
    Problem problem = c.problem;
    problem.parameters["direction"] = std::string(direction);
    for (const char* name : {"w_v", "w_2"}) {
      auto& w = problem.inputs.at(name).values;
      std::fill(w.begin(), w.end(), 0.0);
    }
    const Outcome outcome = c.evaluate(problem);
    Outcome expected;
    expected.values["t_1"] = problem.inputs.at("s_1");
    expected.values["t_2"] = problem.inputs.at("s_2");
    expected.bounds = outcome.bounds;
    for (const char* name : {"t_1", "t_2"}) {
      const Finding finding = laws::identical(c, name, outcome, expected, "functions that are 0");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
  }
  return {};
}

inline std::vector<laws::Property> properties() { return {{"zero_functions", zero_functions}}; }

}  // namespace attest::properties::content::reversible_residual
