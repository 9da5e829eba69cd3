// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::feature_map {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool is_elu(const Context& c) { return std::get<std::string>(*setting(c.problem, "kind")) == "elu_plus_one"; }

/// The problem with entries far below 0 among others.
inline Problem with_negatives(const Context& c) { return laws::with_drawn(c, {"x"}, "uniform -30 4"); }

/// elu + 1 is positive: a feature may be 0 only where the bound is as large as the feature.
inline Finding positive(const Context& c) {
  if (!is_elu(c)) return Finding::not_applicable();
  const Problem problem = with_negatives(c);
  const Outcome outcome = c.evaluate(problem);
  const Array &x = problem.inputs.at("x"), &phi = outcome.values.at("phi"), &bound = outcome.bounds().at("phi");
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (!(phi.values[i] > 0) && !(bound.values[i] >= std::exp(x.values[i])))
      return Finding::broken("phi(" + std::to_string(x.values[i]) + ") = " + std::to_string(phi.values[i]) +
                             " is not positive");
  return {};
}

/// elu + 1 as the sum of its two parts.
inline double elu_plus_one(double x) { return std::max(x, 0.0) + std::exp(std::min(x, 0.0)); }

/// A larger x has the larger feature, below 0 as well: the slope is never 0.
inline Finding strictly_increasing(const Context& c) {
  if (!is_elu(c)) return Finding::not_applicable();
  const Problem problem = with_negatives(c);
  const Outcome outcome = c.evaluate(problem);
  const Array &x = problem.inputs.at("x"), &phi = outcome.values.at("phi"), &bound = outcome.bounds().at("phi");
  for (std::size_t i = 0; i < x.values.size(); ++i)
    for (std::size_t j = 0; j < x.values.size(); ++j) {
      const double allowed = bound.values[i] + bound.values[j];
      if (!(x.values[i] < x.values[j])) continue;
      const double rise = phi.values[j] - phi.values[i];
      if (rise < -allowed || (rise <= 0 && allowed < elu_plus_one(x.values[j]) - elu_plus_one(x.values[i])))
        return Finding::broken("phi does not rise from " + std::to_string(x.values[i]) + " to " +
                               std::to_string(x.values[j]));
    }
  return {};
}

/// phi(x) >= 1 + x, and equal to it for x >= 0.
inline Finding at_least_one_plus_x(const Context& c) {
  if (!is_elu(c)) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  Array least = c.problem.inputs.at("x"), phi = outcome.values.at("phi"), slack = least;
  for (std::size_t i = 0; i < least.values.size(); ++i) {
    const bool below = least.values[i] < 0;
    least.values[i] += 1;
    if (below) phi.values[i] = std::min(phi.values[i], least.values[i]);
    slack.values[i] = 0x1p-52 * std::abs(least.values[i]);
  }
  return laws::same(c, "phi", phi, outcome.bounds().at("phi"), least, slack, "1 + x");
}

/// No element sees another: changing all columns but one leaves that one.
inline Finding elementwise(const Context& c) { return laws::columns_apart(c, "x", "phi", "d"); }

inline std::vector<laws::Property> properties() {
  return {{"positive", positive},
          {"strictly_increasing", strictly_increasing},
          {"at_least_one_plus_x", at_least_one_plus_x},
          {"elementwise", elementwise}};
}

}  // namespace attest::properties::linear::feature_map
