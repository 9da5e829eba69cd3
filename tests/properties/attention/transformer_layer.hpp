// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::transformer_layer {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// x goes through an additive layer untouched when its values are 0 and its network is the identity.
inline Finding residual_identity(const Context& c) {
  Problem problem = c.problem;
  const Index f = problem.sizes.at("f");
  problem.sizes.at("g") = f;
  problem.parameters["kind"] = std::string("additive");
  problem.parameters["activation"] = std::string("identity");
  problem.inputs.erase("b_1");
  problem.inputs.erase("b_2");
  auto& w_v = problem.inputs.at("w_v").values;
  std::fill(w_v.begin(), w_v.end(), 0.0);
  Array identity{{f, f}, std::vector<double>(static_cast<std::size_t>(f * f))};
  for (Index a = 0; a < f; ++a) identity.values[static_cast<std::size_t>(a * f + a)] = 1;
  problem.inputs.at("w_1") = problem.inputs.at("w_2") = identity;
  const Outcome outcome = c.evaluate(problem);
  const Array& x = problem.inputs.at("x");  // a product that takes fewer bits than x has rounds it, times 1 or not
  Array exactly{x.shape, std::vector<double>(x.values.size())};
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), x, exactly,
                    "an additive layer of nothing");
}

/// The output is all that a layer hands on: applied to it, the layer gives what the equation gives.
inline Finding stack(const Context& c) {
  Problem first = c.problem;
  first.parameters["activation"] = std::string("identity");  // a hidden unit of 0 would leave the slope of relu open
  Problem second = first;
  second.inputs.at("x") = c.evaluate(first).values.at("z");
  const Outcome outcome = c.evaluate(second);
  const auto expected = golden::enclose(second, "dense", 128);
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), expected.middle.at("z"),
                    expected.radius.at("z"), "the layer of the layer");
}

inline std::vector<laws::Property> properties() { return {{"residual_identity", residual_identity}, {"stack", stack}}; }

}  // namespace attest::properties::attention::transformer_layer
