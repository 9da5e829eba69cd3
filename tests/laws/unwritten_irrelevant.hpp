// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// The named caches are filled from their first row on, a row per token seen. What their other rows hold changes
/// nothing: outputs keep their bits, and so do the rows of the new caches that hold a token.
inline Finding unwritten_irrelevant(const Context& c) {
  const Index seen = std::get<Index>(*setting(c.problem, Role::first_position));
  const Index rows = c.problem.inputs.at(c.claim.of.at(0)).shape[0];
  if (seen >= rows) return Finding::not_applicable();
  const Stale stale(c);
  Problem changed = c.problem;
  for (const auto& name : c.claim.of) {
    auto& array = changed.inputs.at(name);
    const Array fresh = redrawn(c, name, 2);
    for (Index i = seen * (array.size() / rows); i < array.size(); ++i)
      array.values[static_cast<std::size_t>(i)] = stale(64 * fresh.values[static_cast<std::size_t>(i)]);
  }
  const Outcome plain = c.evaluate(c.problem);
  const auto other = stale.evaluated(c, changed);
  if (!other) return Finding::not_applicable();
  const Index filled = std::min(rows, seen + c.problem.sizes.at(c.claim.along));
  for (const auto& output : c.problem.spec->outputs) {
    if (!plain.values.count(output.name)) continue;
    const auto kept = [&](const Outcome& outcome) {
      Outcome some = outcome;
      if (is_carried(*c.problem.spec, output)) {
        Array& x = some.values.at(output.name);
        x.values.resize(static_cast<std::size_t>(filled * (x.size() / rows)));
        x.shape[0] = filled;
      }
      return some;
    };
    const auto finding = stale.judged(
        identical(c, output.name, kept(plain), kept(*other), "changing rows of the cache that hold no token"));
    if (finding.kind != Finding::Kind::holds) return finding;
  }
  return {};
}

}  // namespace attest::laws
