// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::coordinate_2d {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index start_of(const Problem& problem, const char* which) { return std::get<Index>(*setting(problem, which)); }

/// The table alone: the equation on tokens of zeros.
inline Problem bare(const Context& c) {
  Problem problem = c.problem;
  auto& x = problem.inputs.at("x").values;
  std::fill(x.begin(), x.end(), 0.0);
  return problem;
}

/// P[t,p] - P[t,0] - P[0,p] + P[0,0] = 0: a step moves all positions alike, a position all steps.
inline Finding mixed_differences_vanish(const Context& c) {
  const Outcome outcome = c.evaluate(bare(c));
  const Array &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  const Index n = y.shape[1], d = y.shape[2];
  Array left = y, right = y, left_bound = y, right_bound = y;
  for (Index i = 0; i < y.size(); ++i) {
    const auto at = static_cast<std::size_t>(i), origin = static_cast<std::size_t>(i % d);
    const auto same_step = static_cast<std::size_t>(i / (n * d) * n * d + i % d),
               same_position = static_cast<std::size_t>(i % (n * d));
    left.values[at] = y.values[at] - y.values[same_step];
    right.values[at] = y.values[same_position] - y.values[origin];
    left_bound.values[at] = bound.values[at] + bound.values[same_step] + 0x1p-50;
    right_bound.values[at] = bound.values[same_position] + bound.values[origin] + 0x1p-50;
  }
  return laws::same(c, "P[t,p] - P[t,0]", left, left_bound, right, right_bound,
                    "the difference of two positions in another step");
}

/// Steps for positions and positions for steps.
inline Finding positions_and_steps_exchanged(const Context& c) {
  const Problem plain = bare(c);
  const Index t = plain.sizes.at("t"), n = plain.sizes.at("n"), d = plain.sizes.at("d");
  Problem exchanged = plain;
  exchanged.sizes.at("t") = n, exchanged.sizes.at("n") = t;
  exchanged.inputs.at("x").shape = {n, t, d};
  exchanged.parameters["position_start"] = start_of(plain, "step_start");
  exchanged.parameters["step_start"] = start_of(plain, "position_start");
  const Outcome here = c.evaluate(plain), there = c.evaluate(exchanged);
  const auto transposed = [&](const Array& x) {
    Array y{{t, n, d}, {}};
    for (Index s = 0; s < t; ++s)
      for (Index i = 0; i < n; ++i)
        for (Index a = 0; a < d; ++a) y.values.push_back(x.values[static_cast<std::size_t>((i * t + s) * d + a)]);
    return y;
  };
  return laws::same(c, "P", here.values.at("y"), here.bounds().at("y"), transposed(there.values.at("y")),
                    transposed(there.bounds().at("y")), "positions and steps exchanged");
}

inline Finding entries_lie_in_range(const Context& c) {
  const Outcome outcome = c.evaluate(bare(c));
  const Array &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  for (std::size_t i = 0; i < y.values.size(); ++i)
    if (!(std::abs(y.values[i]) <= 2 + bound.values[i]))
      return Finding::broken("an entry of the table lies outside [-2, 2]");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"mixed_differences_vanish", mixed_differences_vanish},
          {"positions_and_steps_exchanged", positions_and_steps_exchanged},
          {"entries_lie_in_range", entries_lie_in_range}};
}

}  // namespace attest::properties::positional::coordinate_2d
