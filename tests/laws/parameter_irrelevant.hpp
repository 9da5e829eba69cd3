// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// An integer parameter that says how, not what: any two settings agree.
inline Finding parameter_irrelevant(const Context& c) {
  const std::string& parameter = c.claim.of.at(0);
  Problem other = c.problem;
  other.parameters[parameter] = 1 + choose(c, 1, 9);
  const Outcome plain = c.evaluate(c.problem), changed = c.evaluate(other);
  for (const auto& output : c.problem.spec->outputs) {
    if (!plain.values.count(output.name)) continue;
    const auto finding = same(c, output.name, changed.values.at(output.name), changed.bounds().at(output.name),
                              plain.values.at(output.name), plain.bounds().at(output.name), "another " + parameter);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
