// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// The operation on the first rows gives the first rows of the outputs.
inline Finding prefix(const Context& c) {
  const Index n = c.problem.sizes.at(c.claim.along);
  if (n < 2) return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(1 + choose(c, 1, n - 1)));
  std::iota(order.begin(), order.end(), Index{0});
  const Outcome whole = c.evaluate(c.problem), part = c.evaluate(take_rows(c.problem, c.claim.along, order));
  for (const auto& output : c.problem.spec->outputs) {
    if (output.shape.empty() || output.shape[0] != c.claim.along || !whole.values.count(output.name)) continue;
    const auto head = [&](const Array& array) { return take(array, output, c.claim.along, order); };
    const auto finding = same(c, output.name, part.values.at(output.name), part.bounds().at(output.name),
                              head(whole.values.at(output.name)), head(whole.bounds().at(output.name)),
                              "the first " + std::to_string(order.size()) + " rows alone");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
