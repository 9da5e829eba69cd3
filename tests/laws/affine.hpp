// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// f(x + y) + f(0) = f(x) + f(y) in the named inputs together, for every output.
inline Finding affine(const Context& c) {
  Problem x = c.problem, y = c.problem, both = c.problem, zero = c.problem;
  for (const auto& name : c.claim.of) {
    if (!c.problem.inputs.count(name)) continue;
    auto& first = x.inputs.at(name);
    first = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "law.x." + name);
    y.inputs[name] = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "law.y." + name);
    both.inputs[name] = first;
    for (std::size_t i = 0; i < first.values.size(); ++i) both.inputs[name].values[i] += y.inputs[name].values[i];
    std::fill(zero.inputs.at(name).values.begin(), zero.inputs.at(name).values.end(), 0.0);
  }
  const Outcome at_x = c.evaluate(x), at_y = c.evaluate(y), at_both = c.evaluate(both), at_zero = c.evaluate(zero);
  const auto added = [&](const std::string& name, const Outcome& a, const Outcome& b, Array& bound) {
    Array sum = a.values.at(name);
    bound = a.bounds().at(name);
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] += b.values.at(name).values[i];
      bound.values[i] += b.bounds().at(name).values[i] + 0x1p-52 * std::abs(sum.values[i]);
    }
    return sum;
  };
  for (const auto& output : c.problem.spec->outputs) {
    if (!at_x.values.count(output.name)) continue;
    Array left_bound, right_bound;
    const Array left = added(output.name, at_both, at_zero, left_bound),
                right = added(output.name, at_x, at_y, right_bound);
    const auto finding =
        same(c, output.name, left, left_bound, right, right_bound, "f(x + y) + f(0) against f(x) + f(y)");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
