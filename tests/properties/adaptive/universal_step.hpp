// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::universal_step {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem without gains and biases.
inline Problem bare(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"b_1", "b_2", "gamma_1", "beta_1", "gamma_2", "beta_2"}) problem.inputs.erase(name);
  return problem;
}
inline void fill(Problem& problem, const char* name, double x) {
  auto& values = problem.inputs.at(name).values;
  std::fill(values.begin(), values.end(), x);
}

inline Finding normalised_rows(const Context& c) {
  const Outcome outcome = c.evaluate(bare(c));
  const Array &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("f"));
  for (std::size_t row = 0; row < y.values.size(); row += width) {
    double total = 0, allowed = 0x1p-44;
    for (std::size_t a = row; a < row + width; ++a) total += y.values[a], allowed += bound.values[a];
    if (!(std::abs(total) <= allowed)) return Finding::broken("a row sums to " + std::to_string(total));
  }
  return {};
}

/// x over its root mean square around its mean, and eps.
inline void normalise(double* x, std::size_t width, double eps) {
  const double mean = std::accumulate(x, x + width, 0.0) / static_cast<double>(width);
  double square = 0;
  for (std::size_t a = 0; a < width; ++a) x[a] -= mean, square += x[a] * x[a];
  for (std::size_t a = 0; a < width; ++a) x[a] /= std::sqrt(square / static_cast<double>(width) + eps);
}

/// One step whose values and network are 0: LN(LN(x + P)).
inline Finding zero_transition(const Context& c) {
  Problem problem = bare(c);
  problem = laws::take_rows(problem, "t", {0});
  problem.parameters["residual_position"] = true, problem.parameters["eps"] = 0.5;
  fill(problem, "w_v", 0), fill(problem, "w_2", 0);
  const Outcome outcome = c.evaluate(problem);
  Array expected = problem.inputs.at("x"), allowed = expected;
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("f"));
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] += problem.inputs.at("p").values[i];
    allowed.values[i] = 0x1p-44;
  }
  for (std::size_t row = 0; row < expected.values.size(); row += width)
    for (int norm = 0; norm < 2; ++norm) normalise(expected.values.data() + row, width, 0.5);
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), expected, allowed, "LN(A)");
}

/// The first steps, and the others applied to what they give; a single step is taken twice.
inline Finding composition(const Context& c) {
  const Index given = c.problem.sizes.at("t"), steps = std::max<Index>(given, 2);
  Problem problem = given < steps ? laws::take_rows(c.problem, "t", {0, 0}) : c.problem;
  problem.parameters["eps"] = 1.0;
  std::vector<Index> first, rest;
  for (Index t = 0; t < steps; ++t) (t < 1 + laws::choose(c, 1, steps - 1) ? first : rest).push_back(t);
  const auto head = golden::enclose(laws::take_rows(problem, "t", first), "step", 128);
  Problem tail = laws::take_rows(problem, "t", rest);
  tail.inputs.at("x") = head.middle.at("y");
  const auto expected = golden::enclose(tail, "step", 128);
  Array allowed = expected.radius.at("y");
  for (double& error : allowed.values) error += 0x1p-40;
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), expected.middle.at("y"), allowed,
                    "the first steps, and then the others");
}

inline Finding no_position_no_difference(const Context& c) {
  Problem with = c.problem;
  fill(with, "p", 0);
  Problem without = with;
  with.parameters["residual_position"] = true, without.parameters["residual_position"] = false;
  const Outcome a = c.evaluate(with), b = c.evaluate(without);
  return laws::same(c, "y", a.values.at("y"), a.bounds().at("y"), b.values.at("y"), b.bounds().at("y"),
                    "both residuals without a signal");
}

inline std::vector<laws::Property> properties() {
  return {{"normalised_rows", normalised_rows},
          {"zero_transition", zero_transition},
          {"composition", composition},
          {"no_position_no_difference", no_position_no_difference}};
}

}  // namespace attest::properties::adaptive::universal_step
