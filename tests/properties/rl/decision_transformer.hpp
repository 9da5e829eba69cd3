// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::rl::decision_transformer {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Other actions from a step on leave the predictions up to that step, its own among them, bit for bit.
inline Finding action_causality(const Context& c) {
  const Index steps = c.problem.sizes.at("t"), first = laws::choose(c, 1, steps);
  Problem changed = c.problem;
  auto& actions = changed.inputs.at("actions");
  const Array fresh = laws::redrawn(c, "actions", 2);
  const Index width = actions.shape[1];
  std::copy(fresh.values.begin() + first * width, fresh.values.end(), actions.values.begin() + first * width);
  std::vector<Index> kept(static_cast<std::size_t>(first + 1));
  for (Index t = 0; t <= first; ++t) kept[static_cast<std::size_t>(t)] = t;
  const auto& predicted = *c.problem.spec->output("predicted");
  const auto head = [&](const Outcome& outcome) {
    Outcome part;
    part.values["predicted"] = laws::take(outcome.values.at("predicted"), predicted, "t", kept);
    part.bounds = [&outcome, &predicted, kept, bounds = Arrays()]() mutable -> const Arrays& {
      bounds["predicted"] = laws::take(outcome.bounds().at("predicted"), predicted, "t", kept);
      return bounds;
    };
    return part;
  };
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  return laws::identical(c, "predicted", head(plain), head(other),
                         "other actions from step " + std::to_string(first) + " on");
}

/// A readout of ones sees both in the sum of the model's outputs: another return or another state of a step changes
/// what is predicted for it.
inline Finding depends_on_state(const Context& c) {
  Problem bare = c.problem;  // without attention the token itself comes out
  auto& w_v = bare.inputs.at("w_v").values;
  std::fill(w_v.begin(), w_v.end(), 0.0);
  for (const char* w : {"w_state", "w_head"}) {
    auto& values = bare.inputs.at(w).values;
    std::fill(values.begin(), values.end(), 1.0);
  }
  Problem moved = bare;
  for (double& s : moved.inputs.at("states").values) s = s < 0 ? 2 : -2;
  const Outcome a = c.evaluate(bare), b = c.evaluate(moved);
  const double away = std::abs(a.values.at("predicted").values[0] - b.values.at("predicted").values[0]);
  if (!(away > a.bounds().at("predicted").values[0] + b.bounds().at("predicted").values[0]))
    return Finding::broken("another state leaves the action");
  // Attention that weighs evenly: the state's token sees the mean of its own value and that of the return.
  Problem even = c.problem;
  const std::pair<const char*, double> filled[] = {{"w_q", 0.0}, {"w_v", 1.0}, {"w_head", 1.0}, {"w_return", 1.0}};
  for (const auto& [name, x] : filled) {
    auto& values = even.inputs.at(name).values;
    std::fill(values.begin(), values.end(), x);
  }
  Problem richer = even;
  for (double& r : richer.inputs.at("returns").values) r = r < 0 ? 2 : -2;
  const Outcome poor = c.evaluate(even), rich = c.evaluate(richer);
  const double apart = std::abs(poor.values.at("predicted").values[0] - rich.values.at("predicted").values[0]);
  if (!(apart > poor.bounds().at("predicted").values[0] + rich.bounds().at("predicted").values[0]))
    return Finding::broken("another return leaves the action");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"action_causality", action_causality}, {"depends_on_state", depends_on_state}};
}

}  // namespace attest::properties::rl::decision_transformer
