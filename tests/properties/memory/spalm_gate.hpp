// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::spalm_gate {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// m, and how far it may be off: softmax attention of the query h on keys and values y.
inline std::pair<Array, Array> average(const Problem& problem) {
  const Index k = problem.sizes.at("k"), d = problem.sizes.at("d");
  Problem sdp{&find_spec("attention.scaled_dot_product"), {}, {{"scale", 1.0}}, {}};
  sdp.sizes = {{"n", 1}, {"s", k}, {"d", d}, {"m", d}};
  const Array& y = problem.inputs.at("y");
  sdp.inputs = {{"q", {{1, d}, problem.inputs.at("h").values}}, {"k", y}, {"v", y}};
  const auto enclosure = golden::enclose(sdp, "max_shift", 128);
  return {{{d}, enclosure.middle.at("o").values}, {{d}, enclosure.radius.at("o").values}};
}

/// z against what it is expected to be.
inline Finding expect(const Context& c, const Problem& problem, const Array& expected, const Array& bound,
                      const char* what) {
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), expected, bound, what);
}

/// The problem with w_g . h = by |h|_1, where that is far from 0.
inline std::optional<Problem> with_gate(const Context& c, double by) {
  Problem gated = c.problem;
  double length = 0;
  for (std::size_t a = 0; a < gated.inputs.at("h").values.size(); ++a) {
    const double h = gated.inputs.at("h").values[a];
    gated.inputs.at("w_g").values[a] = h < 0 ? -by : by;
    length += std::abs(h);
  }
  if (length < 0.5) return std::nullopt;
  return gated;
}

/// What is left of the other share with a gate before its sigmoid of 128 or more.
inline Array remainder(const Problem& problem, Array bound, const Array& m) {
  for (std::size_t a = 0; a < bound.values.size(); ++a)
    bound.values[a] += 0x1p-180 * (std::abs(problem.inputs.at("h").values[a]) + std::abs(m.values[a]));
  return bound;
}

inline Finding k_one(const Context& c) {
  auto problem = with_gate(c, -256);
  if (!problem) return Finding::not_applicable();
  *problem = laws::take_rows(*problem, "k", {0});
  const Index d = problem->sizes.at("d");
  const Array y{{d}, problem->inputs.at("y").values}, zero{{d}, std::vector<double>(static_cast<std::size_t>(d))};
  return expect(c, *problem, y, remainder(*problem, zero, y), "a closed gate and one neighbour");
}

inline Finding gate_open(const Context& c) {
  const auto problem = with_gate(c, 256);
  if (!problem) return Finding::not_applicable();
  const Array& h = problem->inputs.at("h");
  const auto [m, radius] = average(*problem);
  Array zero = h;
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return expect(c, *problem, h, remainder(*problem, zero, m), "an open gate");
}

inline Finding gate_closed(const Context& c) {
  const auto problem = with_gate(c, -256);
  if (!problem) return Finding::not_applicable();
  const auto [m, radius] = average(*problem);
  return expect(c, *problem, m, remainder(*problem, radius, m), "a closed gate");
}

inline Finding between(const Context& c) {
  const auto [m, radius] = average(c.problem);
  const auto& h = c.problem.inputs.at("h").values;
  const Outcome outcome = c.evaluate(c.problem);
  const auto &z = outcome.values.at("z").values, &bound = outcome.bounds().at("z").values;
  for (std::size_t a = 0; a < z.size(); ++a) {
    const double slack = bound[a] + radius.values[a];
    if (!(std::min(h[a], m.values[a]) - slack <= z[a] && z[a] <= std::max(h[a], m.values[a]) + slack))
      return Finding::broken("z[" + std::to_string(a) + "] lies outside of what it mixes");
  }
  return {};
}

inline Finding half(const Context& c) {
  Problem problem = c.problem;
  std::fill(problem.inputs.at("w_g").values.begin(), problem.inputs.at("w_g").values.end(), 0.0);
  auto [mean, radius] = average(problem);
  for (std::size_t a = 0; a < mean.values.size(); ++a) {
    const double h = problem.inputs.at("h").values[a];
    radius.values[a] = radius.values[a] / 2 + 0x1p-52 * (std::abs(h) + std::abs(mean.values[a]));
    mean.values[a] = (mean.values[a] + h) / 2;
  }
  return expect(c, problem, mean, radius, "w_g = 0");
}

inline Finding distribution(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  if (!outcome.values.count("p")) return Finding::not_applicable();
  Array total{{}, {0}}, allowed = total, zero = total;
  for (std::size_t i = 0; i < outcome.values.at("p").values.size(); ++i) {
    const double p = outcome.values.at("p").values[i], bound = outcome.bounds().at("p").values[i];
    if (p < -bound) return Finding::broken("p[" + std::to_string(i) + "] is negative");
    total.values[0] += p, allowed.values[0] += bound + 0x1p-52;
  }
  return laws::same(c, "p", total, allowed, {{}, {1}}, zero, "the sum of p");
}

inline std::vector<laws::Property> properties() {
  return {{"k_one", k_one},     {"gate_open", gate_open}, {"gate_closed", gate_closed},
          {"between", between}, {"half", half},           {"distribution", distribution}};
}

}  // namespace attest::properties::memory::spalm_gate
