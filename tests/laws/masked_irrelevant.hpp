// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Keys and values that the mask hides from every query change nothing: outputs keep their bits.
inline Finding masked_irrelevant(const Context& c) {
  if (!given(c.problem, Role::mask)) return Finding::not_applicable();
  const auto& declared = *c.problem.spec->input(Role::mask);
  Problem hidden = c.problem, changed = c.problem;
  const Index s = c.problem.sizes.at(c.claim.along), key = choose(c, 1, s);
  const Stale stale(c);
  auto& mask = hidden.inputs.at(declared.name);
  if (declared.shape.back() != c.claim.along || s < 2) return Finding::not_applicable();
  for (Index i = key; i < mask.size(); i += s) mask.values[static_cast<std::size_t>(i)] = 0;
  changed.inputs.at(declared.name) = mask;
  for (const auto& name : c.claim.of) {
    const auto& tensor = *c.problem.spec->input(name);
    auto& array = changed.inputs.at(name);
    const Array fresh = redrawn(c, name, 2);
    const bool by_row = tensor.shape[0] == c.claim.along;  // rows of k and v; columns of logits
    for (Index i = 0; i < array.size(); ++i)
      if ((by_row ? i / array.shape[1] : i % s) == key)
        array.values[static_cast<std::size_t>(i)] = stale(64 * fresh.values[static_cast<std::size_t>(i)]);
  }
  if (averages_hidden_values(hidden)) return Finding::not_applicable();
  const Outcome plain = c.evaluate(hidden);
  const auto other = stale.evaluated(c, changed);
  if (!other) return Finding::not_applicable();
  for (const auto& output : c.problem.spec->outputs) {
    if (!plain.values.count(output.name)) continue;
    const auto finding =
        stale.judged(identical(c, output.name, plain, *other, "changing what key " + std::to_string(key) + " hides"));
    if (finding.kind != Finding::Kind::holds) return finding;
  }
  return {};
}

}  // namespace attest::laws
