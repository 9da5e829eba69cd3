// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/attend.hpp"

namespace attest::properties::sparse::longformer {

using laws::Context;
using laws::Finding;

/// The problem without projections of G.
inline Problem plain(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"q_g", "k_g", "v_g"}) problem.inputs.erase(name);
  return problem;
}

inline bool is_global(const Problem& problem, Index i) {
  const auto globals = problem.inputs.find("globals");
  return globals != problem.inputs.end() && globals->second.values[static_cast<std::size_t>(i)] != 0;
}

/// j in S_i, said once more.
inline bool sees(const Problem& problem, Index i, Index j) {
  const Index radius = std::get<Index>(*setting(problem, "radius")),
              step = std::get<Index>(*setting(problem, "dilation"));
  if (std::get<bool>(*setting(problem, "causal")) && i < j) return false;
  for (Index t = -radius; t <= radius; ++t)
    if (i + t * step == j) return true;
  return is_global(problem, i) || (std::get<bool>(*setting(problem, "symmetric")) && is_global(problem, j));
}

inline Finding full_limit(const Context& c) {
  Problem problem = plain(c);
  problem.parameters["radius"] = problem.sizes.at("n") - 1 + laws::choose(c, 1, 3);
  problem.parameters["dilation"] = Index{1};
  return attend::equals(c, problem, attend::attention(problem, std::get<bool>(*setting(problem, "causal"))),
                        "a window as long as the sequence");
}

inline Finding all_global(const Context& c) {
  Problem problem = plain(c);
  const Index n = problem.sizes.at("n");
  problem.inputs["globals"] = {{n}, std::vector<double>(static_cast<std::size_t>(n), 1)};
  return attend::equals(c, problem, attend::attention(problem, std::get<bool>(*setting(problem, "causal"))),
                        "global tokens alone");
}

/// Attention with the union of window and global tokens as a mask; the tokens around the middle are global.
inline Finding no_double_count(const Context& c) {
  Problem problem = plain(c);
  const Index n = problem.sizes.at("n");
  Array globals{{n}, std::vector<double>(static_cast<std::size_t>(n), 0)};
  globals.values[static_cast<std::size_t>(n / 2)] = globals.values[static_cast<std::size_t>(n / 3)] = 1;
  problem.inputs["globals"] = globals;
  return attend::equals_masked(
      c, problem, [&](Index i, Index j) { return sees(problem, i, j); }, "the union as a mask");
}

inline Finding locality(const Context& c) {
  const Problem problem = plain(c);
  return attend::unseen_irrelevant(c, problem, [&](Index i, Index j) { return sees(problem, i, j); });
}

/// Tokens of other residue classes.
inline Finding dilation_classes(const Context& c) {
  Problem problem = plain(c);
  problem.inputs.erase("globals");
  const Index step = std::get<Index>(*setting(problem, "dilation"));
  return attend::unseen_irrelevant(c, problem, [&](Index i, Index j) { return (i - j) % step == 0; });
}

inline std::vector<laws::Property> properties() {
  return {{"full_limit", full_limit},
          {"all_global", all_global},
          {"no_double_count", no_double_count},
          {"locality", locality},
          {"dilation_classes", dilation_classes}};
}

}  // namespace attest::properties::sparse::longformer
