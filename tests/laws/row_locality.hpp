// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Output row i depends on row i of the inputs only: changing every other row leaves its bits.
inline Finding row_locality(const Context& c) {
  const Index n = c.problem.sizes.at(c.claim.along);
  if (n < 2) return Finding::not_applicable();
  const Index row = choose(c, 1, n);
  Problem changed = c.problem;
  for (auto& [name, array] : changed.inputs) {
    const auto& declared = *c.problem.spec->input(name);
    if (declared.element != Element::real || declared.shape.empty() || declared.shape[0] != c.claim.along) continue;
    const Array fresh = redrawn(c, name, 2);
    const Index width = array.size() / n;
    for (Index i = 0; i < array.size(); ++i)
      if (i / width != row) array.values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  }
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  for (const auto& output : c.problem.spec->outputs) {
    if (output.shape.empty() || output.shape[0] != c.claim.along || !plain.values.count(output.name)) continue;
    const auto only = [&](const Outcome& outcome) {
      Outcome kept;
      kept.values[output.name] = take(outcome.values.at(output.name), output, c.claim.along, {row});
      kept.bounds = [&outcome, &output, &c, row, bounds = Arrays()]() mutable -> const Arrays& {
        bounds[output.name] = take(outcome.bounds().at(output.name), output, c.claim.along, {row});
        return bounds;
      };
      return kept;
    };
    const auto finding = identical(c, output.name, only(plain), only(other), "changing every row but one");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
