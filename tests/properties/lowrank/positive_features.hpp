// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::positive_features {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool is_hyperbolic(const Context& c) { return std::get<bool>(*setting(c.problem, "hyperbolic")); }

/// A feature may be 0 only where the bound is as large as its value.
inline Finding positive(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const auto expected = golden::enclose(c.problem, "direct", 128);
  const auto &phi = outcome.values.at("phi").values, &bound = outcome.bounds().at("phi").values,
             &right = expected.middle.at("phi").values;
  for (std::size_t t = 0; t < phi.size(); ++t)
    if (!(phi[t] > 0) && !(bound[t] >= right[t]))
      return Finding::broken("phi[" + std::to_string(t) + "] = " + std::to_string(phi[t]) + " is not positive");
  return {};
}

/// All features of x = 0 are e^-shift / sqrt(p).
inline Finding zero(const Context& c) {
  Problem problem = c.problem;
  auto& x = problem.inputs.at("x").values;
  std::fill(x.begin(), x.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("phi"), slack = expected;
  const double shift = std::get<double>(*setting(problem, "shift"));
  std::fill(expected.values.begin(), expected.values.end(),
            std::exp(-shift) / std::sqrt(static_cast<double>(problem.sizes.at("p"))));
  for (std::size_t t = 0; t < slack.values.size(); ++t) slack.values[t] = 0x1p-48 * expected.values[t];
  return laws::same(c, "phi", outcome.values.at("phi"), outcome.bounds().at("phi"), expected, slack,
                    "the features of 0");
}

inline Problem negated(const Problem& problem) {
  Problem other = problem;
  for (double& x : other.inputs.at("x").values) x = -x;
  return other;
}

/// phi(-x) is phi(x) with its halves exchanged.
inline Finding hyperbolic_even(const Context& c) {
  if (!is_hyperbolic(c)) return Finding::not_applicable();
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(negated(c.problem));
  const auto p = static_cast<std::size_t>(c.problem.sizes.at("p"));
  const auto exchanged = [&](const Array& x) {
    Array y = x;
    for (std::size_t t = 0; t < y.values.size(); ++t) y.values[t] = x.values[t / p * p + (t % p + p / 2) % p];
    return y;
  };
  return laws::same(c, "phi", other.values.at("phi"), other.bounds().at("phi"), exchanged(plain.values.at("phi")),
                    exchanged(plain.bounds().at("phi")), "-x against x");
}

/// x and w of small eighths before and after a turn by one angle in the plane of the first two columns.
inline Finding rotation(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  if (d < 2) return Finding::not_applicable();
  const auto [plain, turned] = laws::turned(c, {"x", "w"}, d, 0.125);
  return laws::agree(c, "phi", turned, plain, "x and w turned together");
}

/// phi_r(x) phi_r(-x) = e^(-|x|^2 - 2 shift) / p, whatever the direction.
inline Finding zero_variance(const Context& c) {
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(negated(c.problem));
  const auto &x = c.problem.inputs.at("x").values, &a = plain.values.at("phi").values,
             &b = other.values.at("phi").values, &u = plain.bounds().at("phi").values,
             &v = other.bounds().at("phi").values;
  const auto p = static_cast<std::size_t>(c.problem.sizes.at("p")),
             d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  const double shift = std::get<double>(*setting(c.problem, "shift"));
  Array products = plain.values.at("phi"), bounds = products, expected = products, slack = products;
  for (std::size_t t = 0; t < a.size(); ++t) {
    double square = 0;
    for (std::size_t e = t / p * d; e < (t / p + 1) * d; ++e) square += x[e] * x[e];
    products.values[t] = a[t] * b[t];
    bounds.values[t] = u[t] * std::abs(b[t]) + v[t] * std::abs(a[t]) + u[t] * v[t];
    expected.values[t] = std::exp(-square - 2 * shift) / static_cast<double>(p);
    slack.values[t] = 0x1p-46 * expected.values[t] * (1 + square);
  }
  return laws::same(c, "phi", products, bounds, expected, slack, "products of the features of x and -x");
}

inline std::vector<laws::Property> properties() {
  return {{"positive", positive},
          {"zero", zero},
          {"hyperbolic_even", hyperbolic_even},
          {"rotation", rotation},
          {"zero_variance", zero_variance}};
}

}  // namespace attest::properties::lowrank::positive_features
