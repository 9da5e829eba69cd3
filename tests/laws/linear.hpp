// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// f(x + y) = f(x) + f(y) in the named inputs together, for every output; x and y are drawn apart, so f(2x) = 2 f(x) is
/// not tested on its own.
inline Finding linear(const Context& c) {
  Problem x = c.problem, y = c.problem, both = c.problem;
  for (const auto& name : c.claim.of) {
    if (!c.problem.inputs.count(name)) continue;
    auto& first = x.inputs.at(name);
    // Small integers, so that the sum is exact in every format.
    first = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "law.x." + name);
    y.inputs[name] = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "law.y." + name);
    both.inputs[name] = first;
    for (std::size_t i = 0; i < first.values.size(); ++i) both.inputs[name].values[i] += y.inputs[name].values[i];
  }
  const Outcome at_x = c.evaluate(x), at_y = c.evaluate(y), at_both = c.evaluate(both);
  for (const auto& output : c.problem.spec->outputs) {
    if (!at_x.values.count(output.name)) continue;
    Array sum = at_x.values.at(output.name), bound = at_x.bounds().at(output.name);
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] += at_y.values.at(output.name).values[i];
      bound.values[i] += at_y.bounds().at(output.name).values[i] + 0x1p-52 * std::abs(sum.values[i]);
    }
    const auto finding = same(c, output.name, at_both.values.at(output.name), at_both.bounds().at(output.name), sum,
                              bound, "f(x + y) against f(x) + f(y)");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
