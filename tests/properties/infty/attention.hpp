// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The same density for every query, whatever the coefficients: mean 1/2, variance softplus(b_sigma).
inline Problem with_fixed_density(const Context& c, double b_sigma) {
  Problem problem = c.problem;
  for (const char* name : {"w_mu", "w_sigma"})
    std::fill(problem.inputs.at(name).values.begin(), problem.inputs.at(name).values.end(), 0.0);
  problem.inputs["b_mu"] = {{}, {0.0}};
  problem.inputs["b_sigma"] = {{}, {b_sigma}};
  return problem;
}

inline Finding linear_in_coefficients(const Context& c) {
  Problem x = with_fixed_density(c, 0), y = x, both = x;
  auto& first = x.inputs.at("coefficients");
  auto& second = y.inputs.at("coefficients");
  first = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "property.x");
  second = golden::draw_array("integers -4 4", first.shape, c.exact, c.seed, "property.y");
  both.inputs.at("coefficients") = first;
  for (std::size_t i = 0; i < first.values.size(); ++i) both.inputs.at("coefficients").values[i] += second.values[i];
  const Outcome a = c.evaluate(x), b = c.evaluate(y), sum = c.evaluate(both);
  Array expected = a.values.at("z"), allowed = a.bounds().at("z");
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] += b.values.at("z").values[i];
    allowed.values[i] += b.bounds().at("z").values[i] + 0x1p-52 * std::abs(expected.values[i]);
  }
  return laws::same(c, "z", sum.values.at("z"), sum.bounds().at("z"), expected, allowed, "the sum of two signals");
}

/// A density of variance e^-100 reads the signal at its mean.
inline Finding delta_limit(const Context& c) {
  Problem problem = with_fixed_density(c, -100);
  problem.parameters["min_sigma2"] = 0.0;
  const Outcome outcome = c.evaluate(problem);
  const auto at = [&](const char* name) -> const std::vector<double>& { return problem.inputs.at(name).values; };
  const auto size = [&](const char* name) { return static_cast<std::size_t>(problem.sizes.at(name)); };
  const bool normalised = std::get<bool>(*setting(problem, "normalised"));
  Array expected = outcome.values.at("z"), slack = expected;
  for (std::size_t column = 0; column < size("m"); ++column) {
    double total = 0, sizes = 0;
    for (std::size_t k = 0; k < size("b"); ++k) {
      const double z = (0.5 - at("c")[k]) / at("s")[k];
      const double psi = std::exp(-z * z / 2) / (normalised ? at("s")[k] * std::sqrt(2 * std::numbers::pi) : 1);
      for (std::size_t a = 0; a < size("e"); ++a) {
        const double term = psi * at("coefficients")[a * size("b") + k] * at("w_v")[a * size("m") + column];
        total += term, sizes += std::abs(term) * (1 + z * z);
      }
    }
    for (std::size_t i = 0; i < size("n"); ++i) {
      expected.values[i * size("m") + column] = total;
      slack.values[i * size("m") + column] = 0x1p-46 * sizes;
    }
  }
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), expected, slack, "sigma2 = e^-100");
}

inline std::vector<laws::Property> properties() {
  return {{"linear_in_coefficients", linear_in_coefficients}, {"delta_limit", delta_limit}};
}

}  // namespace attest::properties::infty::attention
