// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::dynamic_span {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double largest(const Context& c) { return std::get<double>(*setting(c.problem, "s")); }

inline Finding range(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &z = outcome.values.at("z"), &bound = outcome.bounds().at("z");
  for (std::size_t t = 0; t < z.values.size(); ++t)
    if (!(z.values[t] >= -bound.values[t] && z.values[t] <= largest(c) + bound.values[t]))
      return Finding::broken("a span is " + std::to_string(z.values[t]) + ", and the largest is " +
                             std::to_string(largest(c)));
  return {};
}

/// v = 0 and b = 0: S / 2
inline Finding half(const Context& c) {
  Problem problem = c.problem;
  auto& v = problem.inputs.at("v").values;
  std::fill(v.begin(), v.end(), 0.0);
  problem.inputs.at("b").values[0] = 0;
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("z"), zero = expected;
  std::fill(expected.values.begin(), expected.values.end(), largest(c) / 2);
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), expected, zero, "half of the span");
}

inline Finding monotone_bias(const Context& c) {
  Problem low = c.problem, high = c.problem;
  low.inputs.at("b").values[0] = -1, high.inputs.at("b").values[0] = 1;
  const Outcome a = c.evaluate(low), b = c.evaluate(high);
  for (std::size_t t = 0; t < a.values.at("z").values.size(); ++t) {
    const double less = a.values.at("z").values[t], more = b.values.at("z").values[t];
    if (!(more >= less - a.bounds().at("z").values[t] - b.bounds().at("z").values[t]))
      return Finding::broken("a larger bias makes a span of " + std::to_string(less) + " one of " +
                             std::to_string(more));
  }
  return {};
}

/// All tokens alike: one span.
inline Finding constant_input(const Context& c) {
  const std::vector<Index> first(static_cast<std::size_t>(c.problem.sizes.at("n")), 0);
  const Outcome outcome = c.evaluate(laws::take_rows(c.problem, "n", first));
  const auto& declared = c.problem.spec->outputs[0];
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"),
                    laws::take(outcome.values.at("z"), declared, "n", first),
                    laws::take(outcome.bounds().at("z"), declared, "n", first), "the span of an equal token");
}

/// z(-v, -b) = S - z(v, b)
inline Finding reflection(const Context& c) {
  Problem turned = c.problem;
  for (double& x : turned.inputs.at("v").values) x = -x;
  turned.inputs.at("b").values[0] *= -1;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(turned);
  Array expected = plain.values.at("z"), bound = plain.bounds().at("z");
  for (double& z : expected.values) z = largest(c) - z;
  for (double& error : bound.values) error += 0x1p-52 * largest(c);
  return laws::same(c, "z", other.values.at("z"), other.bounds().at("z"), expected, bound, "S - z");
}

inline std::vector<laws::Property> properties() {
  return {{"range", range},
          {"half", half},
          {"monotone_bias", monotone_bias},
          {"constant_input", constant_input},
          {"reflection", reflection}};
}

}  // namespace attest::properties::adaptive::dynamic_span
