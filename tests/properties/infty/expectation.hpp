// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::expectation {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool over_the_real_line(const Problem& problem) {
  return std::get<std::string>(*setting(problem, "domain")) == "real_line";
}
inline bool is_normalised(const Problem& problem) { return std::get<bool>(*setting(problem, "normalised")); }

/// Means and centres in sixteenths, widths and deviations 1/8, 1/4 or 1/2: exact in every format, moved, doubled or
/// squared.
inline Problem in_sixteenths(const Context& c) {
  Problem problem = c.problem;
  const auto draw = [&](const char* name, const char* recipe, auto&& f) {
    auto& array = problem.inputs.at(name);
    array = golden::draw_array(recipe, array.shape, c.exact, c.seed, std::string("property.") + name);
    for (double& x : array.values) x = f(x);
  };
  draw("mu", "integers 0 16", [](double x) { return x / 16; });
  draw("c", "integers 0 16", [](double x) { return x / 16; });
  draw("sigma2", "integers 1 3", [](double x) { return std::exp2(-2 * x); });
  draw("s", "integers 1 3", [](double x) { return std::exp2(-x); });
  return problem;
}

inline Finding agree(const Context& c, const Outcome& a, Array expected, Array allowed, double factor,
                     const char* what) {
  for (double& x : expected.values) x *= factor;
  for (double& x : allowed.values) x *= factor;
  return laws::same(c, "r", a.values.at("r"), a.bounds().at("r"), expected, allowed, what);
}

/// A point density reads the basis function at the mean.
inline Finding delta_limit(const Context& c) {
  Problem problem = in_sixteenths(c);
  std::fill(problem.inputs.at("sigma2").values.begin(), problem.inputs.at("sigma2").values.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  const auto &mu = problem.inputs.at("mu").values, &centre = problem.inputs.at("c").values,
             &s = problem.inputs.at("s").values;
  Array expected = outcome.values.at("r"), slack = expected;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const std::size_t k = i % s.size();
    const double z = (mu[i / s.size()] - centre[k]) / s[k];
    expected.values[i] = std::exp(-z * z / 2) / (is_normalised(problem) ? s[k] * std::sqrt(2 * std::numbers::pi) : 1);
    slack.values[i] = 0x1p-49 * (1 + z * z) * expected.values[i];
  }
  return laws::same(c, "r", outcome.values.at("r"), outcome.bounds().at("r"), expected, slack, "sigma2 = 0");
}

/// Densities and basis functions change places.
inline Finding swap(const Context& c) {
  const Problem one = in_sixteenths(c);
  if (!is_normalised(one)) return Finding::not_applicable();
  Problem other = one;
  std::swap(other.sizes.at("n"), other.sizes.at("b"));
  std::swap(other.inputs.at("mu"), other.inputs.at("c"));
  std::swap(other.inputs.at("sigma2"), other.inputs.at("s"));
  for (double& x : other.inputs.at("sigma2").values) x *= x;
  for (double& x : other.inputs.at("s").values) x = std::sqrt(x);
  const Outcome a = c.evaluate(one), b = c.evaluate(other);
  const auto transposed = [&](const Array& from) {
    Array to = a.values.at("r");
    const auto n = static_cast<std::size_t>(to.shape[0]), functions = static_cast<std::size_t>(to.shape[1]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < functions; ++k) to.values[i * functions + k] = from.values[k * n + i];
    return to;
  };
  return agree(c, a, transposed(b.values.at("r")), transposed(b.bounds().at("r")), 1,
               "densities and functions swapped");
}

inline Finding translation(const Context& c) {
  const Problem here = in_sixteenths(c);
  if (!over_the_real_line(here)) return Finding::not_applicable();
  Problem there = here;
  for (const char* name : {"mu", "c"})
    for (double& x : there.inputs.at(name).values) x += 2;
  const Outcome a = c.evaluate(there), b = c.evaluate(here);
  return agree(c, a, b.values.at("r"), b.bounds().at("r"), 1, "means and centres moved by 2");
}

inline Finding scale(const Context& c) {
  const Problem one = in_sixteenths(c);
  if (!over_the_real_line(one)) return Finding::not_applicable();
  Problem twice = one;
  for (const auto& [name, factor] : {std::pair("mu", 2), {"c", 2}, {"s", 2}, {"sigma2", 4}})
    for (double& x : twice.inputs.at(name).values) x *= factor;
  const Outcome a = c.evaluate(twice), b = c.evaluate(one);
  return agree(c, a, b.values.at("r"), b.bounds().at("r"), is_normalised(one) ? 0.5 : 1, "everything twice as wide");
}

/// No density of the same variance gives more than the one whose mean is the centre.
inline Finding peak(const Context& c) {
  Problem away = in_sixteenths(c);
  if (!over_the_real_line(away)) return Finding::not_applicable();
  const double centre = away.inputs.at("c").values[0];
  for (double& x : away.inputs.at("c").values) x = centre;
  Problem there = away;
  for (double& x : there.inputs.at("mu").values) x = centre;
  const Outcome a = c.evaluate(away), b = c.evaluate(there);
  for (std::size_t i = 0; i < a.values.at("r").values.size(); ++i)
    if (!(a.values.at("r").values[i] <=
          b.values.at("r").values[i] + a.bounds().at("r").values[i] + b.bounds().at("r").values[i]))
      return Finding::broken("r is larger away from the centre");
  return {};
}

inline Finding domain_order(const Context& c) {
  Problem inside = in_sixteenths(c), everywhere = inside;
  inside.parameters["domain"] = std::string("unit_interval");
  everywhere.parameters["domain"] = std::string("real_line");
  const Outcome a = c.evaluate(inside), b = c.evaluate(everywhere);
  for (std::size_t i = 0; i < a.values.at("r").values.size(); ++i) {
    const double less = a.values.at("r").values[i], all = b.values.at("r").values[i],
                 allowed = a.bounds().at("r").values[i] + b.bounds().at("r").values[i];
    if (!(less <= all + allowed) || !(less >= -allowed))
      return Finding::broken("over [0, 1] r is " + std::to_string(less) + ", over the real line " +
                             std::to_string(all));
  }
  return {};
}

/// Functions of width 1/8 around the mean of a point density add up to three times 1 and more.
inline Finding not_a_distribution(const Context& c) {
  Problem problem = in_sixteenths(c);
  if (!is_normalised(problem)) return Finding::not_applicable();
  const auto fill = [&](const char* name, double x) {
    std::fill(problem.inputs.at(name).values.begin(), problem.inputs.at(name).values.end(), x);
  };
  fill("mu", 0.5), fill("c", 0.5), fill("s", 0.125), fill("sigma2", 0.0);
  const Outcome outcome = c.evaluate(problem);
  double total = 0;
  for (Index k = 0; k < problem.sizes.at("b"); ++k) total += outcome.values.at("r").values[static_cast<std::size_t>(k)];
  if (total > 3) return {};
  return Finding::broken("the expectations of a point density add up to " + std::to_string(total));
}

inline std::vector<laws::Property> properties() {
  return {{"delta_limit", delta_limit},
          {"swap", swap},
          {"translation", translation},
          {"scale", scale},
          {"peak", peak},
          {"domain_order", domain_order},
          {"not_a_distribution", not_a_distribution}};
}

}  // namespace attest::properties::infty::expectation
