// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::rotary {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double at(const Array& x, Index row, Index column) { return x.values[static_cast<std::size_t>(row * x.shape[1] + column)]; }

/// The two columns of pair m.
inline std::pair<Index, Index> pair_of(const Problem& problem, Index m) {
  const Index d = problem.sizes.at("d");
  const bool half = std::get<std::string>(*setting(problem, "pairing")) == "half";
  return half ? std::pair(m, m + d / 2) : std::pair(2 * m, 2 * m + 1);
}

/// A rotation keeps the length of every pair.
inline Finding keeps_the_length_of_every_pair(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &x = c.problem.inputs.at("x"), &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
  Array before{{0}, {}}, after{{0}, {}}, allowed{{0}, {}};
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index m = 0; m < x.shape[1] / 2; ++m) {
      const auto [a, b] = pair_of(c.problem, m);
      before.values.push_back(at(x, i, a) * at(x, i, a) + at(x, i, b) * at(x, i, b));
      after.values.push_back(at(y, i, a) * at(y, i, a) + at(y, i, b) * at(y, i, b));
      const double e = at(bound, i, a) + at(bound, i, b), size = std::sqrt(before.values.back());
      allowed.values.push_back(2 * size * e + e * e + 0x1p-50 * before.values.back());
    }
  Array zero = before;
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "|y|^2", after, allowed, before, zero, "the length of a pair");
}

/// (R_p q) . (R_s k) depends on s - p only: moving all positions by one number leaves every product of two rows.
inline Finding products_depend_on_distance(const Context& c) {
  Problem moved = c.problem;
  const double by = static_cast<double>(laws::choose(c, 1, 64));
  for (double& p : moved.inputs.at("positions").values) p += by;
  const Outcome here = c.evaluate(c.problem), there = c.evaluate(moved);
  const Index n = c.problem.sizes.at("n"), d = c.problem.sizes.at("d");
  const auto products = [&](const Outcome& outcome, Array& allowed) {
    const Array &y = outcome.values.at("y"), &bound = outcome.bounds().at("y");
    Array dots{{n, n}, {}};
    allowed = dots;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double dot = 0, error = 0;
        for (Index a = 0; a < d; ++a) {
          const double p = at(y, i, a), q = at(y, j, a), e = at(bound, i, a), f = at(bound, j, a);
          dot += p * q;
          error += std::abs(p) * f + std::abs(q) * e + e * f + 0x1p-46 * std::abs(p * q);
        }
        dots.values.push_back(dot);
        allowed.values.push_back(error);
      }
    return dots;
  };
  Array first, second;
  const Array a = products(here, first), b = products(there, second);
  return laws::same(c, "y y^T", a, first, b, second, "positions moved by " + std::to_string(static_cast<int>(by)));
}

/// Position 0 leaves every bit.
inline Finding position_zero_is_the_identity(const Context& c) {
  Problem zero = c.problem;
  for (double& p : zero.inputs.at("positions").values) p = 0;
  const Outcome outcome = c.evaluate(zero);
  const Array &x = c.problem.inputs.at("x"), &y = outcome.values.at("y");
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double slack = c.bitwise ? 0 : outcome.bounds().at("y").values[i];
    if (!(std::abs(x.values[i] - y.values[i]) <= slack)) return Finding::broken("position 0 changed y[" + std::to_string(i) + "]");
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"keeps the length of every pair", keeps_the_length_of_every_pair},
          {"products depend on the distance only", products_depend_on_distance},
          {"position 0 is the identity", position_zero_is_the_identity}};
}

}  // namespace attest::properties::positional::rotary
