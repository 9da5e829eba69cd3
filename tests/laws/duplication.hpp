// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Every row along a size twice: the outputs stay.
inline Finding duplication(const Context& c) {
  std::vector<Index> order;
  for (Index i = 0; i < c.problem.sizes.at(c.claim.along); ++i) order.insert(order.end(), {i, i});
  const Outcome plain = c.evaluate(c.problem), twice = c.evaluate(take_rows(c.problem, c.claim.along, order));
  const std::string& name = c.problem.spec->outputs[0].name;
  return same(c, name, twice.values.at(name), twice.bounds().at(name), plain.values.at(name), plain.bounds().at(name),
              "every " + c.claim.along + " twice");
}

}  // namespace attest::laws
