// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::learned {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index start_of(const Problem& problem) { return std::get<Index>(*setting(problem, "start")); }

/// A table of zeros leaves every bit of the tokens.
inline Finding zero_table(const Context& c) {
  Problem bare = c.problem;
  auto& table = bare.inputs.at("table").values;
  std::fill(table.begin(), table.end(), 0.0);
  const Outcome outcome = c.evaluate(bare);
  Outcome expected;
  expected.values["y"] = c.problem.inputs.at("x");
  expected.bounds = outcome.bounds;
  return laws::identical(c, "y", outcome, expected, "a table of zeros");
}

/// Rows of the table outside start .. start + n - 1 may be anything.
inline Finding other_rows_do_not_matter(const Context& c) {
  Problem changed = c.problem;
  auto& table = changed.inputs.at("table");
  const Array fresh = laws::redrawn(c, "table", 2);
  const Index d = c.problem.sizes.at("d"), start = start_of(c.problem), end = start + c.problem.sizes.at("n");
  if (end - start == table.shape[0]) return Finding::not_applicable();
  for (Index t = 0; t < table.size(); ++t)
    if (t / d < start || t / d >= end)
      table.values[static_cast<std::size_t>(t)] = fresh.values[static_cast<std::size_t>(t)];
  return laws::identical(c, "y", c.evaluate(c.problem), c.evaluate(changed), "other rows of the table");
}

/// The tables of two layers, one after the other: each adds its own rows.
inline Finding two_layers(const Context& c) {
  Problem first = c.problem;
  for (auto& [name, array] : first.inputs)
    array = golden::draw_array("integers -4 4", array.shape, c.exact, c.seed, "property." + name);
  const Outcome between = c.evaluate(first);
  Problem second = first;
  second.inputs.at("x") = between.values.at("y");
  second.inputs.at("table") =
      golden::draw_array("integers -4 4", first.inputs.at("table").shape, c.exact, c.seed, "property.second");
  const Outcome outcome = c.evaluate(second);
  Array expected = first.inputs.at("x"), exact = expected;
  const auto from = static_cast<std::size_t>(start_of(c.problem) * c.problem.sizes.at("d"));
  for (std::size_t t = 0; t < expected.values.size(); ++t) {
    expected.values[t] += first.inputs.at("table").values[from + t] + second.inputs.at("table").values[from + t];
    exact.values[t] = 0;
  }
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), expected, exact, "two layers");
}

inline std::vector<laws::Property> properties() {
  return {
      {"zero_table", zero_table}, {"other_rows_do_not_matter", other_rows_do_not_matter}, {"two_layers", two_layers}};
}

}  // namespace attest::properties::positional::learned
