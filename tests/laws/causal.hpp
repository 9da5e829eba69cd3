// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Changing tokens from j on leaves the outputs of the tokens before j, bit for bit.
inline Finding causal(const Context& c) {
  const Index n = c.problem.sizes.at(c.claim.along);
  if (n < 2 || averages_hidden_values(c.problem)) return Finding::not_applicable();
  const Index first = 1 + choose(c, 1, n - 1);
  Problem changed = c.problem;
  for (const auto& name : c.claim.of) {
    auto& array = changed.inputs.at(name);
    const Array fresh = redrawn(c, name, 2);
    const Index width = array.size() / n;
    for (Index i = first * width; i < array.size(); ++i)
      array.values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  }
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  bool any = false;
  for (const auto& output : c.problem.spec->outputs) {
    if (output.shape.empty() || is_carried(*c.problem.spec, output) || !plain.values.count(output.name)) continue;
    const Array& before = plain.values.at(output.name);
    if (before.shape[0] != n) continue;
    any = true;
    const Index width = before.size() / n;
    Array a = before, b = other.values.at(output.name);
    a.values.resize(static_cast<std::size_t>(first * width));
    b.values.resize(static_cast<std::size_t>(first * width));
    Array zero = a;
    std::fill(zero.values.begin(), zero.values.end(), 0.0);
    Array a_bound = zero, b_bound = zero;
    if (!c.bitwise) a_bound = plain.bounds().at(output.name), b_bound = other.bounds().at(output.name);
    const auto finding =
        same(c, output.name, a, a_bound, b, b_bound, "changing tokens from " + std::to_string(first) + " on");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return any ? Finding{} : Finding::not_applicable();
}

}  // namespace attest::laws
