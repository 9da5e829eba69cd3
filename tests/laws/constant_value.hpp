// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// If every row of the named values is the same, every output row that is not a convention for "nothing visible" is it.
inline Finding constant_value(const Context& c) {
  Problem constant = c.problem;
  auto& values = constant.inputs.at(c.claim.of.at(0));
  const Index width = values.shape.back();
  for (std::size_t i = 0; i < values.values.size(); ++i)
    values.values[i] = static_cast<double>(static_cast<Index>(i) % width + 1);
  const Outcome outcome = c.evaluate(constant);
  const std::string& name = c.problem.spec->outputs[0].name;
  const Array& got = outcome.values.at(name);
  const Array& bound = outcome.bounds().at(name);
  bool any = false;
  for (Index row = 0; row * width < got.size(); ++row) {
    Array expected{{width}, {}}, mine{{width}, {}}, allowed{{width}, {}};
    bool empty = true;
    for (Index i = row * width; i < (row + 1) * width; ++i) {
      expected.values.push_back(static_cast<double>(i % width + 1));
      mine.values.push_back(got.values[static_cast<std::size_t>(i)]);
      allowed.values.push_back(bound.values[static_cast<std::size_t>(i)]);
      empty = empty && (mine.values.back() == 0 && allowed.values.back() == 0);
    }
    if (empty) continue;  // bound 0 and value 0: a row that sees nothing
    any = true;
    const Array zero{{width}, std::vector<double>(static_cast<std::size_t>(width))};
    const auto finding = same(c, name, mine, allowed, expected, zero, "constant values");
    if (finding.kind == Finding::Kind::broken && !(mine.values[0] != mine.values[0])) return finding;
  }
  return any ? Finding{} : Finding::not_applicable();
}

}  // namespace attest::laws
