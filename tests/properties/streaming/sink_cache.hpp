// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "attest/judge/laws.hpp"

namespace attest::properties::streaming::sink_cache {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index sinks_of(const Problem& problem) { return std::get<Index>(*setting(problem, "sinks")); }
inline Index tokens_of(const Problem& problem) {
  return std::get<Index>(*setting(problem, "seen")) + problem.sizes.at("n");
}

/// `expected` tokens in the first rows at the positions 0, 1, .., and -1 behind them. Places in the text may be left
/// out: no 16-bit format has millions.
inline Finding keeps(const Context& c, const Problem& problem, const std::vector<Index>& expected, bool places = true) {
  const Outcome outcome = c.evaluate(problem);
  if (!outcome.values.count("kept") || !outcome.values.count("positions")) return Finding::not_applicable();
  const Index rows = problem.sizes.at("c");
  Array kept{{rows}, {}}, positions = kept, exact{{rows}, std::vector<double>(static_cast<std::size_t>(rows))};
  for (Index r = 0; r < rows; ++r) {
    const bool holds = r < static_cast<Index>(expected.size());
    kept.values.push_back(holds ? static_cast<double>(expected[static_cast<std::size_t>(r)]) : -1);
    positions.values.push_back(holds ? static_cast<double>(r) : -1);
  }
  if (!places) kept = outcome.values.at("kept");
  const auto finding =
      laws::same(c, "kept", outcome.values.at("kept"), outcome.bounds().at("kept"), kept, exact, "tokens that stay");
  if (finding.kind == Finding::Kind::broken) return finding;
  return laws::same(c, "positions", outcome.values.at("positions"), outcome.bounds().at("positions"), positions, exact,
                    "positions in the cache");
}

/// The first `sinks` tokens and the c - sinks last ones, in order; there are min(T, c).
inline Finding kept_set(const Context& c) {
  const Index T = tokens_of(c.problem), rows = c.problem.sizes.at("c"), sinks = sinks_of(c.problem);
  std::vector<Index> expected(static_cast<std::size_t>(std::min(T, rows)));
  for (Index r = 0; r < static_cast<Index>(expected.size()); ++r)
    expected[static_cast<std::size_t>(r)] = r < sinks ? r : T - static_cast<Index>(expected.size()) + r;
  return keeps(c, c.problem, expected);
}

inline Finding zero_sinks(const Context& c) {
  Problem plain = c.problem;
  plain.parameters["sinks"] = Index{0};
  const Index T = tokens_of(plain), rows = plain.sizes.at("c");
  std::vector<Index> expected;
  for (Index p = std::max<Index>(0, T - rows); p < T; ++p) expected.push_back(p);
  return keeps(c, plain, expected);
}

/// Four million tokens: the largest position is c - 1.
inline Finding any_length(const Context& c) {
  const Index rows = c.problem.sizes.at("c"), sinks = sinks_of(c.problem), n = c.problem.sizes.at("n");
  Problem later = c.problem;
  later.parameters["seen"] = Index{4000000};
  std::vector<Index> expected;
  for (Index p = 0; p < sinks; ++p) expected.push_back(p);
  for (Index p = 4000000 + n - (rows - sinks); p < 4000000 + n; ++p) expected.push_back(p);
  return keeps(c, later, expected, false);
}

/// When token 9 is decoded with 4 sinks and 4 recent tokens.
inline Finding example(const Context& c) {
  Problem problem = c.problem;
  problem.sizes["n"] = 1, problem.sizes["c"] = 8;
  problem.parameters = {{"sinks", Index{4}}, {"seen", Index{9}}};
  const Index d = problem.sizes.at("d");
  problem.inputs["x"] = golden::draw_array("labels", {1, d}, c.exact, c.seed, "property.x");
  problem.inputs["cache"] = golden::draw_array("labels", {8, d}, c.exact, c.seed, "property.cache");
  return keeps(c, problem, {0, 1, 2, 3, 6, 7, 8, 9});
}

inline std::vector<laws::Property> properties() {
  return {{"kept_set", kept_set}, {"zero_sinks", zero_sinks}, {"any_length", any_length}, {"example", example}};
}

}  // namespace attest::properties::streaming::sink_cache
