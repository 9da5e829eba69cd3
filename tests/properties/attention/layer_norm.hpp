// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::layer_norm {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with gamma = 1 and beta = 0.
inline Problem bare(const Context& c) {
  Problem problem = c.problem;
  problem.inputs.erase("gamma");
  problem.inputs.erase("beta");
  return problem;
}

/// f(y, bound of y) summed over each row.
template <class F>
Array row_sums(const Problem& problem, const Outcome& outcome, F&& f) {
  const Index n = problem.sizes.at("n"), d = problem.sizes.at("d");
  Array sums{{n}, std::vector<double>(static_cast<std::size_t>(n))};
  for (std::size_t t = 0; t < static_cast<std::size_t>(n * d); ++t)
    sums.values[t / static_cast<std::size_t>(d)] +=
        f(outcome.values.at("y").values[t], outcome.bounds().at("y").values[t]);
  return sums;
}

/// Without gamma and beta the entries of a row sum to 0.
inline Finding zero_mean(const Context& c) {
  const Problem problem = bare(c);
  const Outcome outcome = c.evaluate(problem);
  const Array sums = row_sums(problem, outcome, [](double y, double) { return y; });
  const Array allowed =
      row_sums(problem, outcome, [](double y, double bound) { return bound + 0x1p-46 * std::abs(y); });
  Array zero = sums;
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "sum of y", sums, allowed, zero, zero, "the mean of a row");
}

/// Without gamma, beta and eps the squares of a row sum to d.
inline Finding unit_variance(const Context& c) {
  Problem problem = bare(c);
  if (problem.sizes.at("d") < 4) return Finding::not_applicable();  // rows of equal entries are 0/0
  problem.parameters["eps"] = 0.0;
  const Outcome outcome = c.evaluate(problem);
  const Array sums = row_sums(problem, outcome, [](double y, double) { return y * y; });
  const Array allowed = row_sums(
      problem, outcome, [](double y, double bound) { return (2 * std::abs(y) + bound) * bound + 0x1p-46 * y * y; });
  Array width = sums, zero = sums;
  std::fill(width.values.begin(), width.values.end(), static_cast<double>(problem.sizes.at("d")));
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "sum of y^2", sums, allowed, width, zero, "the variance of a row");
}

/// Without gamma, beta and eps what is normalised stays.
inline Finding idempotent(const Context& c) {
  Problem once = bare(c);
  const Index d = once.sizes.at("d");
  if (d < 4) return Finding::not_applicable();  // rows of equal entries are 0/0
  once.parameters["eps"] = 0.0;
  const Outcome first = c.evaluate(once);
  Problem twice = once;
  twice.inputs.at("x") = first.values.at("y");
  const Outcome second = c.evaluate(twice);
  // An entry moves by its own error and by the errors of the row's mean and deviation, |y| <= sqrt(d).
  Array allowed = first.bounds().at("y");
  const Array sums = row_sums(once, first, [](double, double bound) { return bound; });
  for (std::size_t t = 0; t < allowed.values.size(); ++t)
    allowed.values[t] += 2 * (1 + std::sqrt(static_cast<double>(d))) * sums.values[t / static_cast<std::size_t>(d)];
  return laws::same(c, "y", second.values.at("y"), second.bounds().at("y"), first.values.at("y"), allowed,
                    "normalising twice");
}

inline std::vector<laws::Property> properties() {
  return {{"zero_mean", zero_mean}, {"unit_variance", unit_variance}, {"idempotent", idempotent}};
}

}  // namespace attest::properties::attention::layer_norm
