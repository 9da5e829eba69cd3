// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::performer_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// It is linear attention on the features of lowrank.positive_features: at width 16, whose fourth root is 2, of rows
/// twice as long.
inline Finding linear_attention(const Context& c) {
  Problem problem = c.problem;
  problem.parameters.erase("stabiliser");
  const bool causal = std::get<bool>(*setting(problem, "causal"));
  const Index n = problem.sizes.at("n"), s = problem.sizes.at("s"), directions = problem.sizes.at("c"), wide = 16;
  problem.sizes["d"] = wide;
  Arrays plain;  // rows of width 16 for lowrank.positive_features, and twice those for this equation
  for (const auto& [name, rows] : {std::pair("q", n), std::pair("k", s), std::pair("w", directions)}) {
    plain[name] = golden::draw_array("integers -2 2", {rows, wide}, c.exact, c.seed, std::string("property.") + name);
    for (double& x : plain[name].values) x /= 16;
    problem.inputs[name] = plain[name];
  }
  for (const char* name : {"q", "k"})
    for (double& x : problem.inputs[name].values) x *= 2;
  const auto features = [&](const char* name, Index rows) {
    Problem of{&find_spec("lowrank.positive_features"),
               {{"n", rows}, {"d", wide}, {"c", directions}, {"p", directions}},
               {},
               {{"x", plain.at(name)}, {"w", plain.at("w")}}};
    return golden::evaluate_in_double(of, "direct", {}).at("phi");
  };
  Problem attention{&find_spec(causal ? "linear.causal" : "linear.attention"),
                    {{"n", n}, {"c", directions}, {"m", problem.sizes.at("m")}},
                    {},
                    {{"phi_q", features("q", n)}, {"phi_k", features("k", s)}, {"v", problem.inputs.at("v")}}};
  if (!causal) attention.sizes["s"] = s;
  const Array right = golden::evaluate_in_double(attention, causal ? "recurrent" : "associative", {}).at("o");
  Array slack = right;
  double size = 0;  // positive weights: no output errs by more than some roundings of the largest value
  for (const double x : problem.inputs.at("v").values) size = std::max(size, std::abs(x));
  std::fill(slack.values.begin(), slack.values.end(), 0x1p-42 * size);
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), right, slack,
                    "linear attention on the features");
}

inline std::vector<laws::Property> properties() { return {{"linear_attention", linear_attention}}; }

}  // namespace attest::properties::lowrank::performer_attention
