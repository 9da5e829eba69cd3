// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include <fmt/format.h>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Every coordinate of the first output lies between the smallest and the largest value of that coordinate (and 0, for
/// rows that see nothing).
inline Finding convex(const Context& c) {
  const Array& values = c.problem.inputs.at(c.claim.of.at(0));
  const Index width = values.shape.back();
  if (values.size() == 0) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  const std::string& name = c.problem.spec->outputs[0].name;
  const Array& got = outcome.values.at(name);
  const Array& bound = outcome.bounds().at(name);
  for (Index i = 0; i < got.size(); ++i) {
    double low = values.values[static_cast<std::size_t>(i % width)], high = low;
    for (Index j = i % width; j < values.size(); j += width) {
      low = std::min(low, values.values[static_cast<std::size_t>(j)]);
      high = std::max(high, values.values[static_cast<std::size_t>(j)]);
    }
    const double x = got.values[static_cast<std::size_t>(i)], slack = bound.values[static_cast<std::size_t>(i)];
    if (x == 0 || x != x) continue;
    if (!(low - slack <= x && x <= high + slack))
      return Finding::broken(fmt::format("{}[{}] = {:.9g} lies outside [{:.9g}, {:.9g}]", name, i, x, low, high));
  }
  return {};
}

}  // namespace attest::laws
