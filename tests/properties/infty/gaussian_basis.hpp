// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::gaussian_basis {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool is_normalised(const Context& c) { return std::get<bool>(*setting(c.problem, "normalised")); }

/// Positions, centres and widths as sixteenths, which every format holds, also moved or doubled.
inline Problem in_sixteenths(const Context& c) {
  Problem problem = c.problem;
  const Index b = problem.sizes.at("b");
  problem.inputs["mu"] = {{b}, std::vector<double>(static_cast<std::size_t>(b))};
  const auto draw = [&](const std::string& name, const std::string& recipe) {
    auto& array = problem.inputs.at(name);
    array = golden::draw_array(recipe, array.shape, c.exact, c.seed, "property." + name);
    for (double& x : array.values) x /= 16;
  };
  draw("t", "integers 0 16");
  draw("mu", "integers 0 16");
  draw("s", "integers 2 8");
  return problem;
}

/// Both problems' outputs, the second times a power of two.
inline Finding agree(const Context& c, const Problem& one, const Problem& other, double factor, const char* what) {
  const Outcome a = c.evaluate(one), b = c.evaluate(other);
  Array expected = b.values.at("psi"), allowed = b.bounds().at("psi");
  for (double& x : expected.values) x *= factor;
  for (double& x : allowed.values) x *= factor;
  return laws::same(c, "psi", a.values.at("psi"), a.bounds().at("psi"), expected, allowed, what);
}

/// psi(mu + e) = psi(mu - e): positions on either side of a centre that all functions share.
inline Finding symmetry(const Context& c) {
  Problem left = in_sixteenths(c), right = left;
  for (auto* problem : {&left, &right})
    std::fill(problem->inputs.at("mu").values.begin(), problem->inputs.at("mu").values.end(), 0.5);
  for (double& t : right.inputs.at("t").values) t = 1 - t;
  return agree(c, left, right, 1, "positions mirrored at the centre");
}

/// 1 / (s sqrt(2 pi)) at the centre, or 1.
inline Finding peak(const Context& c) {
  Problem problem = in_sixteenths(c);
  std::fill(problem.inputs.at("mu").values.begin(), problem.inputs.at("mu").values.end(), 0.25);
  std::fill(problem.inputs.at("t").values.begin(), problem.inputs.at("t").values.end(), 0.25);
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("psi"), slack = expected;
  const auto& s = problem.inputs.at("s").values;
  const auto n = static_cast<std::size_t>(problem.sizes.at("n"));
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] = is_normalised(c) ? 1 / (s[i / n % s.size()] * std::sqrt(2 * std::numbers::pi)) : 1;
    slack.values[i] = 0x1p-50 * expected.values[i];
  }
  return laws::same(c, "psi", outcome.values.at("psi"), outcome.bounds().at("psi"), expected, slack,
                    "the height at a centre");
}

/// The trapezoidal rule in steps of s / 4 over 12 s on either side: exact for a Gaussian far beyond every format.
inline Finding unit_integral(const Context& c) {
  if (!is_normalised(c)) return Finding::not_applicable();
  constexpr Index kSide = 48;
  constexpr double kWidth = 0.125, kStep = kWidth / 4;
  Problem problem = c.problem;
  problem.sizes = {{"n", 2 * kSide + 1}, {"b", 1}, {"w", 1}};
  problem.inputs["mu"] = {{1}, {0.0}};
  problem.inputs["s"] = {{1}, {kWidth}};
  Array t{{2 * kSide + 1}, {}};
  for (Index i = -kSide; i <= kSide; ++i) t.values.push_back(static_cast<double>(i) * kStep);
  problem.inputs["t"] = t;
  const Outcome outcome = c.evaluate(problem);
  double total = 0, allowed = 0x1p-48;
  for (const double x : outcome.values.at("psi").values) total += kStep * x;
  for (const double x : outcome.bounds().at("psi").values) allowed += kStep * x;
  if (std::abs(total - 1) <= allowed) return {};
  return Finding::broken("the integral over the real line is " + std::to_string(total));
}

inline Finding translation(const Context& c) {
  const Problem here = in_sixteenths(c);
  Problem there = here;
  for (const char* name : {"t", "mu"})
    for (double& x : there.inputs.at(name).values) x += 2;
  return agree(c, there, here, 1, "positions and centres moved by 2");
}

/// psi(2 t; 2 mu, 2 s) = psi(t; mu, s) / 2, which read the other way is psi(t / tau) = tau N(t; tau mu, tau^2 s^2) for
/// tau = 1/2.
inline Finding scaling(const Context& c) {
  const Problem one = in_sixteenths(c);
  Problem twice = one;
  for (const char* name : {"t", "mu", "s"})
    for (double& x : twice.inputs.at(name).values) x *= 2;
  return agree(c, twice, one, is_normalised(c) ? 0.5 : 1, "twice the positions, centres and widths");
}

/// A function may be 0 only where the bound is as large as its value.
inline Finding positive(const Context& c) {
  const Problem problem = in_sixteenths(c);
  const Outcome outcome = c.evaluate(problem);
  const auto &t = problem.inputs.at("t").values, &mu = problem.inputs.at("mu").values,
             &s = problem.inputs.at("s").values;
  const Array &psi = outcome.values.at("psi"), &bound = outcome.bounds().at("psi");
  for (std::size_t i = 0; i < psi.values.size(); ++i) {
    const std::size_t k = i / t.size();
    const double z = (t[i % t.size()] - mu[k]) / s[k % s.size()];
    if (!(psi.values[i] > 0) && !(bound.values[i] >= std::exp(-z * z / 2)))
      return Finding::broken("psi[" + std::to_string(i) + "] = " + std::to_string(psi.values[i]) + " is not positive");
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"symmetry", symmetry},       {"peak", peak},       {"unit_integral", unit_integral},
          {"translation", translation}, {"scaling", scaling}, {"positive", positive}};
}

}  // namespace attest::properties::infty::gaussian_basis
