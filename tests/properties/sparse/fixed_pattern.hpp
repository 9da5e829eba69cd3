// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/strided_pattern.hpp"

namespace attest::properties::sparse::fixed_pattern {

using laws::Context;
using laws::Finding;

/// All keys sum up their block.
inline Finding full_summary(const Context& c) {
  Problem problem = strided_pattern::with_part(c, "second");
  problem.parameters["summary"] = std::get<Index>(*setting(problem, "period"));
  return attend::equals(c, problem, attend::attention(problem, true), "A2 with c = l");
}

/// Whole blocks before the sequence.
inline Finding block_translation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), period = std::get<Index>(*setting(c.problem, "period"));
  if (n <= period) return Finding::not_applicable();
  return strided_pattern::later_tokens(c, strided_pattern::with_part(c, "first"),
                                       period * (1 + laws::choose(c, 1, (n - 1) / period)), 0);
}

inline std::vector<laws::Property> properties() {
  return {{"full_summary", full_summary}, {"block_translation", block_translation}};
}

}  // namespace attest::properties::sparse::fixed_pattern
