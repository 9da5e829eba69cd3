// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Adding a number to every entry of the named inputs leaves the first output.
inline Finding shift(const Context& c) {
  Problem integers = c.problem, shifted = c.problem;
  for (const auto& name : c.claim.of) {  // small integers: the shifted logits are exact
    auto& array = integers.inputs.at(name);
    array = golden::draw_array("integers -4 4", array.shape, c.exact, c.seed, "law." + name);
    shifted.inputs.at(name) = array;
    for (double& x : shifted.inputs.at(name).values) x += static_cast<double>(choose(c, 3, 2) ? 7 : -7);
  }
  const Outcome plain = c.evaluate(integers), other = c.evaluate(shifted);
  const std::string& name = c.problem.spec->outputs[0].name;
  return same(c, name, other.values.at(name), other.bounds().at(name), plain.values.at(name), plain.bounds().at(name),
              "shifting every logit");
}

}  // namespace attest::laws
