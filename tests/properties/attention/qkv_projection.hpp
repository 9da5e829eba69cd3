// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::qkv_projection {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// With the identity as its weight (f = d) a projection leaves every bit.
inline Finding identity_weight(const Context& c) {
  Problem problem = c.problem;
  const Index f = problem.sizes.at("f");
  problem.sizes.at("d") = f;
  Array identity{{f, f}, std::vector<double>(static_cast<std::size_t>(f * f))};
  for (Index a = 0; a < f; ++a) identity.values[static_cast<std::size_t>(a * f + a)] = 1;
  problem.inputs.at("w_q") = problem.inputs.at("w_k") = identity;
  const Outcome outcome = c.evaluate(problem);
  for (const auto& [output, input] : {std::pair("q", "x"), std::pair("k", "x_kv")}) {
    Outcome expected;
    expected.values[output] = problem.inputs.at(input);
    expected.bounds = [bounds = Arrays{{output, outcome.bounds().at(output)}}]() -> const Arrays& { return bounds; };
    const auto finding = laws::identical(c, output, outcome, expected, "the identity as weight");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Tokens of zeros give zeros, bit for bit.
inline Finding zero_input(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"x", "x_kv"})
    std::fill(problem.inputs.at(name).values.begin(), problem.inputs.at(name).values.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  for (const auto& [name, array] : outcome.values)
    for (const double y : array.values)
      if (y != 0) return Finding::broken(name + " is not 0 for tokens of zeros");
  return {};
}

/// A column of an output is made of that column of its weight: the other columns may change.
inline Finding column_block(const Context& c) {
  const Outcome plain = c.evaluate(c.problem);
  for (const auto& [output, weight] : {std::pair("q", "w_q"), std::pair("k", "w_k"), std::pair("v", "w_v")}) {
    Problem changed = c.problem;
    auto& w = changed.inputs.at(weight);
    const Index width = w.shape[1], kept = laws::choose(c, 1, width);
    const Array fresh = laws::redrawn(c, weight, 2);
    for (Index t = 0; t < w.size(); ++t)
      if (t % width != kept) w.values[static_cast<std::size_t>(t)] = fresh.values[static_cast<std::size_t>(t)];
    const Outcome other = c.evaluate(changed);
    const auto column = [&](const Array& y) {
      Array one{{y.shape[0]}, {}};
      for (Index t = kept; t < y.size(); t += width) one.values.push_back(y.values[static_cast<std::size_t>(t)]);
      return one;
    };
    const auto finding =
        laws::same(c, output, column(other.values.at(output)), column(other.bounds().at(output)),
                   column(plain.values.at(output)), column(plain.bounds().at(output)), "other columns of the weight");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"identity_weight", identity_weight}, {"zero_input", zero_input}, {"column_block", column_block}};
}

}  // namespace attest::properties::attention::qkv_projection
