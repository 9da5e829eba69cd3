// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/strided_pattern.hpp"

namespace attest::properties::sparse::image_local_1d {

using laws::Context;
using laws::Finding;

inline Problem with(const Context& c, const char* parameter, Index value) {
  Problem problem = c.problem;
  problem.parameters[parameter] = value;
  return problem;
}

inline bool is_causal(const Problem& problem) { return std::get<bool>(*setting(problem, "causal")); }

/// A block as long as the image.
inline Finding one_block(const Context& c) {
  const Problem problem = with(c, "query_block", c.problem.sizes.at("n") + laws::choose(c, 1, 3));
  return attend::equals(c, problem, attend::attention(problem, is_causal(problem)), "one block");
}

/// Each block on its own.
inline Finding no_extension(const Context& c) {
  const Problem problem = with(c, "extension", 0);
  const Index length = std::get<Index>(*setting(problem, "query_block"));
  return attend::equals_masked(
      c, problem, [&](Index i, Index j) { return i / length == j / length && (j <= i || !is_causal(problem)); },
      "no extension");
}

/// Whole blocks before the sequence.
inline Finding block_translation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), length = std::get<Index>(*setting(c.problem, "query_block"));
  if (n <= length) return Finding::not_applicable();
  const Index reach = std::get<Index>(*setting(c.problem, "extension"));
  return strided_pattern::later_tokens(c, c.problem, length * (1 + laws::choose(c, 1, (n - 1) / length)),
                                       (reach + length - 1) / length * length);
}

inline std::vector<laws::Property> properties() {
  return {{"one_block", one_block}, {"no_extension", no_extension}, {"block_translation", block_translation}};
}

}  // namespace attest::properties::sparse::image_local_1d
