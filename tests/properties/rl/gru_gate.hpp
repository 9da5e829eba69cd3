// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::rl::gru_gate {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// sigma(-256) times a number of that size is less.
constexpr double kVanished = 0x1p-320;

inline Problem with_bias(const Context& c, double b) {
  Problem problem = c.problem;
  auto& bias = problem.inputs.at("b_g").values;
  std::fill(bias.begin(), bias.end(), b);
  return problem;
}

inline void clear(Problem& problem, std::initializer_list<const char*> inputs) {
  for (const char* name : inputs) {
    auto& values = problem.inputs.at(name).values;
    std::fill(values.begin(), values.end(), 0.0);
  }
}

/// The pre-activation of the update gate without its bias is far below 256 for what is drawn here.
inline Problem modest(Problem problem) {
  clear(problem, {"w_z", "u_z"});
  return problem;
}

inline Array filled(const Array& like, double x) { return {like.shape, std::vector<double>(like.values.size(), x)}; }

inline Finding identity_limit(const Context& c) {
  const Problem closed = modest(with_bias(c, 256));
  const Outcome outcome = c.evaluate(closed);
  const Array& x = closed.inputs.at("x");
  return laws::same(c, "g", outcome.values.at("g"), outcome.bounds().at("g"), x, filled(x, kVanished), "a closed gate");
}

/// An open gate gives h: a gate of one half gives the mean of x and that.
inline Finding open_limit(const Context& c) {
  const Outcome open = c.evaluate(modest(with_bias(c, -256))), half = c.evaluate(modest(with_bias(c, 0)));
  const Array& x = c.problem.inputs.at("x");
  Array mean = open.values.at("g"), bound = open.bounds().at("g");
  for (std::size_t i = 0; i < mean.values.size(); ++i) {
    mean.values[i] = (mean.values[i] + x.values[i]) / 2;
    bound.values[i] = bound.values[i] / 2 + kVanished * std::abs(x.values[i]) + 0x1p-52 * std::abs(mean.values[i]);
  }
  return laws::same(c, "g", half.values.at("g"), half.bounds().at("g"), mean, bound, "the mean of x and an open gate");
}

/// Every element of g lies between those of x and h, which an open gate gives.
inline Finding between(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem), open = c.evaluate(with_bias(c, -4096));
  const auto &x = c.problem.inputs.at("x").values, &h = open.values.at("g").values, &g = outcome.values.at("g").values;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double slack = outcome.bounds().at("g").values[i] + open.bounds().at("g").values[i];
    if (!(std::min(x[i], h[i]) - slack <= g[i] && g[i] <= std::max(x[i], h[i]) + slack))
      return Finding::broken("g[" + std::to_string(i) + "] lies outside x and h");
  }
  return {};
}

/// Weights of 0 leave z = sigma(-b) and h = 0.
inline Finding zero_weights(const Context& c) {
  Problem bare = c.problem;
  clear(bare, {"w_r", "u_r", "w_z", "u_z", "w_g", "u_g"});
  const Outcome outcome = c.evaluate(bare);
  Array expected = bare.inputs.at("x"), error = expected;
  const auto& b = bare.inputs.at("b_g").values;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] /= 1 + std::exp(-b[i % b.size()]);
    error.values[i] = 0x1p-48 * std::abs(expected.values[i]);
  }
  return laws::same(c, "g", outcome.values.at("g"), outcome.bounds().at("g"), expected, error, "sigma(b) x");
}

inline Finding bound(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const auto &x = c.problem.inputs.at("x").values, &g = outcome.values.at("g").values;
  for (std::size_t i = 0; i < g.size(); ++i)
    if (!(std::abs(g[i]) <= std::max(std::abs(x[i]), 1.0) + outcome.bounds().at("g").values[i]))
      return Finding::broken("g[" + std::to_string(i) + "] is larger than x and 1");
  return {};
}

/// A larger b leaves g nearer to x.
inline Finding bias_monotone(const Context& c) {
  Problem more = c.problem;
  for (double& b : more.inputs.at("b_g").values) b += 1;
  const Outcome before = c.evaluate(c.problem), after = c.evaluate(more);
  const auto& x = c.problem.inputs.at("x").values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double slack = before.bounds().at("g").values[i] + after.bounds().at("g").values[i];
    if (!(std::abs(after.values.at("g").values[i] - x[i]) <= std::abs(before.values.at("g").values[i] - x[i]) + slack))
      return Finding::broken("g[" + std::to_string(i) + "] moves away from x when b rises");
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"identity_limit", identity_limit}, {"open_limit", open_limit}, {"between", between},
          {"zero_weights", zero_weights},     {"bound", bound},           {"bias_monotone", bias_monotone}};
}

}  // namespace attest::properties::rl::gru_gate
