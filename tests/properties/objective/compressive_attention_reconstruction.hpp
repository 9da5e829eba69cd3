// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::compressive_attention_reconstruction {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const double loss = outcome.values.at("loss").values[0];
  return loss >= -outcome.bounds().at("loss").values[0] ? Finding{}
                                                        : Finding::broken("the loss is " + std::to_string(loss));
}

/// No loss, of a problem whose attentions are the same.
inline Finding nothing_lost(const Context& c, Problem problem, const std::string& what) {
  problem.parameters["norm"] = std::string("squared");  // the root has no slope at 0
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "loss", outcome.values.at("loss"), outcome.bounds().at("loss"), {{}, {0.0}}, {{}, {0.0}}, what);
}

/// C = O
inline Finding identical(const Context& c) {
  Problem same = c.problem;
  same.sizes.at("k") = same.sizes.at("n");
  same.inputs.at("compressed") = same.inputs.at("old");
  return nothing_lost(c, same, "memories that are kept as they are");
}

/// Memories that are all the first one, compressed to as many of it as the problem has.
inline Finding constant_memory(const Context& c) {
  Problem constant = c.problem;
  auto& old = constant.inputs.at("old").values;
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("f"));
  for (std::size_t i = width; i < old.size(); ++i) old[i] = old[i % width];
  auto& compressed = constant.inputs.at("compressed").values;
  for (std::size_t i = 0; i < compressed.size(); ++i) compressed[i] = old[i % width];
  return nothing_lost(c, constant, "memories that are all the same");
}

inline std::vector<laws::Property> properties() {
  return {{"non_negative", non_negative}, {"identical", identical}, {"constant_memory", constant_memory}};
}

}  // namespace attest::properties::objective::compressive_attention_reconstruction
