// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/attend.hpp"

namespace attest::properties::sparse::big_bird {

using laws::Context;
using laws::Finding;

inline Index number(const Problem& problem, const char* name) { return std::get<Index>(*setting(problem, name)); }

/// The problem with lists of `places` tokens token(i, t).
template <class F>
Problem with_lists(const Problem& from, Index places, F&& token) {
  Problem problem = from;
  const Index n = problem.sizes.at("n");
  problem.sizes["c"] = places;
  Array lists{{n, places}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index t = 0; t < places; ++t) lists.values.push_back(static_cast<double>(token(i, t)));
  problem.inputs["random"] = lists;
  return problem;
}

inline Finding all_random(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  const Problem problem = with_lists(c.problem, n, [&](Index i, Index t) { return (i + t) % n; });
  return attend::equals(c, problem, attend::attention(problem), "lists of all blocks");
}

/// Lists that name their own block.
inline Problem without_random(const Context& c) {
  return with_lists(c.problem, 1, [](Index i, Index) { return i; });
}

/// Whether a block sees another through the window or as a global one.
inline bool sees(const Problem& problem, Index a, Index e) {
  const Index size = number(problem, "block"), blocks = (problem.sizes.at("n") + size - 1) / size;
  const auto is_global = [&](Index b) {
    return b < number(problem, "first_global") || b >= blocks - number(problem, "last_global");
  };
  return std::abs(a - e) <= number(problem, "radius") || is_global(a) || is_global(e);
}

/// Blocks of one token: sparse.longformer of the same radius, the first tokens and the last ones global.
inline Finding no_random(const Context& c) {
  Problem problem = without_random(c);
  problem.parameters["block"] = Index{1};
  const Index n = problem.sizes.at("n");
  Problem other{&find_spec("sparse.longformer"), {}, {}, {}};
  other.sizes = {{"n", n}, {"d", problem.sizes.at("d")}, {"m", problem.sizes.at("m")}};
  for (const char* name : {"q", "k", "v"}) other.inputs[name] = problem.inputs.at(name);
  Array globals{{n}, {}};
  for (Index i = 0; i < n; ++i)
    globals.values.push_back(i < number(problem, "first_global") || i >= n - number(problem, "last_global") ? 1 : 0);
  other.inputs["globals"] = globals;
  other.parameters["radius"] = number(problem, "radius");
  if (const auto scale = setting(problem, "scale")) other.parameters["scale"] = *scale;
  return attend::equals(c, problem, golden::enclose(other, "mask", 128), "sparse.longformer");
}

/// A window of whole blocks beside global blocks.
inline Finding no_random_blocks(const Context& c) {
  const Problem problem = without_random(c);
  const Index size = number(problem, "block");
  return attend::equals_masked(
      c, problem, [&](Index i, Index j) { return sees(problem, i / size, j / size); }, "no random blocks");
}

/// The union as a mask.
inline Finding union_once(const Context& c) {
  const Index size = number(c.problem, "block"), places = c.problem.sizes.at("c");
  const auto& lists = c.problem.inputs.at("random").values;
  return attend::equals_masked(
      c, c.problem,
      [&](Index i, Index j) {
        for (Index t = 0; t < places; ++t)
          if (static_cast<Index>(lists[static_cast<std::size_t>(i / size * size * places + t)]) / size == j / size)
            return true;
        return sees(c.problem, i / size, j / size);
      },
      "the union as a mask");
}

inline Finding given_randomness(const Context& c) {
  return laws::identical(c, "o", c.evaluate(c.problem), c.evaluate(c.problem), "the same lists");
}

inline std::vector<laws::Property> properties() {
  return {{"all_random", all_random},
          {"no_random", no_random},
          {"no_random_blocks", no_random_blocks},
          {"union_once", union_once},
          {"given_randomness", given_randomness}};
}

}  // namespace attest::properties::sparse::big_bird
