// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::density {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double real(const Problem& problem, const char* name) { return std::get<double>(*setting(problem, name)); }

inline Problem without(Problem problem, std::initializer_list<const char*> names) {
  for (const char* name : names) problem.inputs.erase(name);
  return problem;
}
inline Problem without_biases(const Context& c) { return without(c.problem, {"b_mu", "b_sigma"}); }

/// Without weights over tokens.
inline Problem of_functions_alone(Problem problem) {
  problem.sizes["l"] = 0;
  problem.inputs["psi"] = {{problem.sizes.at("b"), 0}, {}};
  problem.inputs["v_mu"] = problem.inputs["v_sigma"] = {{0}, {}};
  return problem;
}

/// Small integers, in which w + psi v is exact in every format.
inline Finding token_weights_are_basis_weights(const Context& c) {
  Problem over_tokens = c.problem;
  const auto draw = [&](const char* name, std::vector<Index> shape) {
    over_tokens.inputs[name] =
        golden::draw_array("integers -2 2", shape, c.exact, c.seed, std::string("property.") + name);
  };
  const Index b = c.problem.sizes.at("b"), l = c.problem.sizes.at("l");
  if (l == 0) return Finding::not_applicable();
  draw("psi", {b, l});
  draw("v_mu", {l}), draw("v_sigma", {l}), draw("w_mu", {b}), draw("w_sigma", {b});
  Problem of_functions = of_functions_alone(over_tokens);
  const auto& psi = over_tokens.inputs.at("psi").values;
  for (const auto& [w, v] : {std::pair("w_mu", "v_mu"), std::pair("w_sigma", "v_sigma")})
    for (std::size_t k = 0; k < static_cast<std::size_t>(b); ++k)
      for (std::size_t t = 0; t < static_cast<std::size_t>(l); ++t)
        of_functions.inputs.at(w).values[k] +=
            psi[k * static_cast<std::size_t>(l) + t] * over_tokens.inputs.at(v).values[t];
  const Outcome a = c.evaluate(over_tokens), e = c.evaluate(of_functions);
  for (const char* name : {"mu", "sigma2"}) {
    const auto finding = laws::same(c, name, a.values.at(name), a.bounds().at(name), e.values.at(name),
                                    e.bounds().at(name), "weights over tokens as weights of functions");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline Finding range(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &mu = outcome.values.at("mu"), &sigma2 = outcome.values.at("sigma2");
  const Array &of_mu = outcome.bounds().at("mu"), &of_sigma2 = outcome.bounds().at("sigma2");
  for (std::size_t i = 0; i < mu.values.size(); ++i) {
    if (!(mu.values[i] >= -of_mu.values[i] && mu.values[i] <= 1 + of_mu.values[i]))
      return Finding::broken("mu = " + std::to_string(mu.values[i]) + " lies outside of (0, 1)");
    if (!(sigma2.values[i] >= -of_sigma2.values[i]))
      return Finding::broken("sigma2 = " + std::to_string(sigma2.values[i]) + " is negative");
  }
  return {};
}

/// Compares an output with numbers known to binary64.
inline Finding equal(const Context& c, const Outcome& outcome, const char* name, const std::vector<double>& expected,
                     const char* what) {
  Array e = outcome.values.at(name), slack = e;
  for (std::size_t i = 0; i < expected.size(); ++i)
    e.values[i] = expected[i], slack.values[i] = 0x1p-50 * std::abs(expected[i]);
  return laws::same(c, name, outcome.values.at(name), outcome.bounds().at(name), e, slack, what);
}

inline Finding zero_query(const Context& c) {
  Problem problem = without_biases(c);
  auto& q = problem.inputs.at("q").values;
  std::fill(q.begin(), q.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  const auto n = static_cast<std::size_t>(problem.sizes.at("n"));
  const auto finding = equal(c, outcome, "mu", std::vector<double>(n, 0.5), "q = 0");
  if (finding.kind == Finding::Kind::broken) return finding;
  const double variance = std::max(real(problem, "min_sigma2"), std::log(2.0));
  return equal(c, outcome, "sigma2", std::vector<double>(n, variance), "q = 0");
}

/// f(+) with the opposite queries: mu(-q) = 1 - mu(q).
inline Finding reflection(const Context& c) {
  Problem there = of_functions_alone(without_biases(c));
  there.parameters["min_sigma2"] = 0.0;
  for (const char* name : {"q", "k_b", "w_mu", "w_sigma"}) {
    auto& array = there.inputs.at(name);
    array = golden::draw_array("integers -1 1", array.shape, c.exact, c.seed, std::string("property.") + name);
  }
  Problem back = there;
  for (double& x : back.inputs.at("q").values) x = -x;
  const Outcome a = c.evaluate(there), b = c.evaluate(back);
  Array expected = b.values.at("mu");
  for (double& x : expected.values) x = 1 - x;
  const auto finding = laws::same(c, "mu", a.values.at("mu"), a.bounds().at("mu"), expected, b.bounds().at("mu"),
                                  "mu of opposite queries");
  if (finding.kind == Finding::Kind::broken) return finding;
  Array difference = a.values.at("sigma2"), allowed = a.bounds().at("sigma2"), logits = difference, slack = difference;
  const auto &q = there.inputs.at("q"), &k_b = there.inputs.at("k_b"), &w = there.inputs.at("w_sigma");
  const auto d = static_cast<std::size_t>(q.shape[1]), functions = static_cast<std::size_t>(k_b.shape[0]);
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= b.values.at("sigma2").values[i];
    allowed.values[i] += b.bounds().at("sigma2").values[i];
    double logit = 0;
    for (std::size_t k = 0; k < functions; ++k)
      for (std::size_t t = 0; t < d; ++t) logit += w.values[k] * k_b.values[k * d + t] * q.values[i * d + t];
    logits.values[i] = real(there, "kappa") * logit;
    slack.values[i] = 0x1p-48 * (1 + std::abs(logits.values[i]));
  }
  return laws::same(c, "sigma2", difference, allowed, logits, slack, "sigma2(q) - sigma2(-q)");
}

inline Problem with_biases(const Context& c, double mean, double variance) {
  Problem problem = c.problem;
  problem.inputs["b_mu"] = {{}, {mean}};
  problem.inputs["b_sigma"] = {{}, {variance}};
  return problem;
}

inline Finding monotone_bias(const Context& c) {
  const Outcome low = c.evaluate(with_biases(c, -0.5, -0.5)), high = c.evaluate(with_biases(c, 0.5, 0.5));
  for (const char* name : {"mu", "sigma2"})
    for (std::size_t i = 0; i < low.values.at(name).values.size(); ++i) {
      const double allowed = low.bounds().at(name).values[i] + high.bounds().at(name).values[i];
      if (!(high.values.at(name).values[i] - low.values.at(name).values[i] >= -allowed))
        return Finding::broken(std::string(name) + " does not rise with its bias");
    }
  return {};
}

/// The slope of ln(1 + e^x) lies between sigma at either end of an interval, and sigma2 is convex in its bias.
inline Finding slope_is_sigmoid(const Context& c) {
  Problem here = of_functions_alone(with_biases(c, 0, 0));
  here.parameters["min_sigma2"] = 0.0;
  auto& q = here.inputs.at("q").values;
  std::fill(q.begin(), q.end(), 0.0);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (const double x : {-4.0, -1.0, 0.0, 2.0}) {
    Problem there = here;
    here.inputs["b_sigma"].values[0] = x, there.inputs["b_sigma"].values[0] = x + 0.5;
    const Outcome a = c.evaluate(here), b = c.evaluate(there);
    const double rise = b.values.at("sigma2").values[0] - a.values.at("sigma2").values[0],
                 allowed = a.bounds().at("sigma2").values[0] + b.bounds().at("sigma2").values[0];
    if (!(rise >= sigmoid(x) / 2 - allowed && rise <= sigmoid(x + 0.5) / 2 + allowed))
      return Finding::broken("sigma2 rises by " + std::to_string(rise) + " from b_sigma = " + std::to_string(x));
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"token_weights_are_basis_weights", token_weights_are_basis_weights},
          {"range", range},
          {"zero_query", zero_query},
          {"reflection", reflection},
          {"monotone_bias", monotone_bias},
          {"slope_is_sigmoid", slope_is_sigmoid}};
}

}  // namespace attest::properties::infty::density
