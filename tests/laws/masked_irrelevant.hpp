// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// What the mask hides from everybody may hold any finite number: outputs keep their bits.
inline Finding masked_irrelevant(const Context& c) {
  if (!c.problem.inputs.count("mask")) return Finding::vacuous();
  const auto& declared = *c.problem.spec->input("mask");
  Problem hidden = c.problem, changed = c.problem;
  const Index s = c.problem.sizes.at(c.claim.along);
  const Index key = choose(c, 1, s);
  auto& mask = hidden.inputs.at("mask");
  if (declared.shape.back() != c.claim.along || s < 2) return Finding::vacuous();
  for (Index i = key; i < mask.size(); i += s) mask.values[static_cast<std::size_t>(i)] = 0;
  changed.inputs.at("mask") = mask;
  for (const auto& name : c.claim.of) {
    const auto& tensor = *c.problem.spec->input(name);
    auto& array = changed.inputs.at(name);
    const Array fresh = redrawn(c, name, 2);
    const bool by_row = tensor.shape[0] == c.claim.along;  // rows of k and v; columns of logits
    for (Index i = 0; i < array.size(); ++i)
      if ((by_row ? i / array.shape[1] : i % s) == key) array.values[static_cast<std::size_t>(i)] = 64 * fresh.values[static_cast<std::size_t>(i)];
  }
  const Outcome plain = c.evaluate(hidden), other = c.evaluate(changed);
  for (const auto& output : c.problem.spec->outputs) {
    const auto mean_of_all = c.problem.parameters.find("empty_row");
    if (mean_of_all != c.problem.parameters.end() && mean_of_all->second == ParameterSetting(std::string("mean"))) return Finding::vacuous();
    const auto finding = identical(c, output.name, plain, other, "changing what key " + std::to_string(key) + " hides");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
