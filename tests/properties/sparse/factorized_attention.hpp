// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "attest/judge/laws.hpp"

namespace attest::properties::sparse::factorized_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Problem with(const Problem& from, const char* mode, Index layer = 0) {
  Problem problem = from;
  problem.parameters["mode"] = std::string(mode);
  problem.parameters["layer"] = layer;
  return problem;
}

/// The same result of two problems, within what both may be off.
inline Finding equal(const Context& c, const Problem& one, const Problem& other, const std::string& what) {
  const Outcome a = c.evaluate(one), b = c.evaluate(other);
  return laws::same(c, "o", a.values.at("o"), a.bounds().at("o"), b.values.at("o"), b.bounds().at("o"), what);
}

/// The first factor alone: all modes, and all layers.
inline Finding single_factor(const Context& c) {
  const Problem one = laws::take_rows(c.problem, "p", {0});
  const Index layer = laws::choose(c, 1, 5);
  const Finding heads = equal(c, with(one, "merged"), with(one, "multi_head"), "one factor, merged and for each head");
  if (heads.kind != Finding::Kind::holds) return heads;
  return equal(c, with(one, "merged"), with(one, "interleaved", layer),
               "one factor, merged and in layer " + std::to_string(layer));
}

/// One factor with the keys of all.
inline Array merged(const Array& patterns) {
  const Index p = patterns.shape[0], n = patterns.shape[1];
  Array all{{1, n, n}, std::vector<double>(static_cast<std::size_t>(n * n))};
  for (std::size_t t = 0; t < all.values.size(); ++t)
    for (Index m = 0; m < p; ++m)
      all.values[t] = std::max(all.values[t], patterns.values[static_cast<std::size_t>(m * n * n) + t]);
  return all;
}
/// The factors, a single one twice, and the one that holds the keys of all.
inline Finding merged_union(const Context& c) {
  const Problem factors =
      with(c.problem.sizes.at("p") < 2 ? laws::take_rows(c.problem, "p", {0, 0}) : c.problem, "merged");
  Problem one = factors;
  one.inputs.at("patterns") = merged(factors.inputs.at("patterns"));
  one.sizes.at("p") = 1;
  return equal(c, factors, one, "one factor with the keys of all");
}

/// Layers r and r + p have the same factor.
inline Finding period(const Context& c) {
  const Index layer = laws::choose(c, 1, 4);
  return laws::identical(c, "o", c.evaluate(with(c.problem, "interleaved", layer)),
                         c.evaluate(with(c.problem, "interleaved", layer + c.problem.sizes.at("p"))),
                         "layer " + std::to_string(layer) + " and the one p later");
}

/// Every factor the first, in causal order: attention.multi_head under that mask, over enclosures.
inline Finding same_pattern_heads(const Context& c) {
  Problem equal_factors = with(c.problem, "multi_head");
  auto& patterns = equal_factors.inputs.at("patterns").values;
  const auto n = static_cast<std::size_t>(c.problem.sizes.at("n"));
  for (std::size_t t = n * n; t < patterns.size(); ++t) patterns[t] = patterns[t - n * n];
  Problem heads{&find_spec("attention.multi_head"), {}, {}, {}};
  for (const char* size : {"n", "f", "h", "d", "m", "e"}) heads.sizes[size] = c.problem.sizes.at(size);
  heads.sizes["s"] = c.problem.sizes.at("n");
  for (const char* name : {"x_q", "x_k", "x_v"}) heads.inputs[name] = c.problem.inputs.at("x");
  for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) heads.inputs[name] = c.problem.inputs.at(name);
  Array& mask = heads.inputs["mask"] = {{c.problem.sizes.at("n"), c.problem.sizes.at("n")}, {}};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) mask.values.push_back(j <= i ? patterns[i * n + j] : 0);
  if (const auto scale = setting(c.problem, "scale")) heads.parameters["scale"] = *scale;
  const auto expected = golden::enclose(heads, "loop", 128);
  const Outcome outcome = c.evaluate(equal_factors);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "heads under one mask");
}

inline std::vector<laws::Property> properties() {
  return {{"single_factor", single_factor},
          {"merged_union", merged_union},
          {"period", period},
          {"same_pattern_heads", same_pattern_heads}};
}

}  // namespace attest::properties::sparse::factorized_attention
