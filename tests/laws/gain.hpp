// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Multiplying the named inputs by 2 (exact in every format) leaves the first output.
inline Finding gain(const Context& c) {
  Problem scaled = c.problem;
  for (const auto& name : c.claim.of)
    if (scaled.inputs.count(name))
      for (double& x : scaled.inputs.at(name).values) x *= 2;
  const Outcome plain = c.evaluate(c.problem), twice = c.evaluate(scaled);
  const std::string& name = c.problem.spec->outputs[0].name;
  return same(c, name, twice.values.at(name), twice.bounds().at(name), plain.values.at(name), plain.bounds().at(name),
              "doubling the inputs");
}

}  // namespace attest::laws
