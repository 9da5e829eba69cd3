// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>
#include <utility>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Permuting every tensor along one size permutes the outputs alike; outputs without that axis stay.
inline Finding permutation(const Context& c) {
  const Index n = c.problem.sizes.at(c.claim.along);
  if (n < 2) return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(choose(c, static_cast<std::uint64_t>(i), i + 1))]);
  const Outcome plain = c.evaluate(c.problem), permuted = c.evaluate(take_rows(c.problem, c.claim.along, order));
  for (const auto& output : c.problem.spec->outputs) {
    if (!plain.values.count(output.name)) continue;
    const auto moved = [&](const Array& array) { return take(array, output, c.claim.along, order); };
    const auto finding =
        same(c, output.name, permuted.values.at(output.name), permuted.bounds().at(output.name),
             moved(plain.values.at(output.name)), moved(plain.bounds().at(output.name)), "permuting " + c.claim.along);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
