// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::polynomial_feature_map {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double constant_of(const Problem& problem) { return std::get<double>(*setting(problem, "constant")); }

/// phi(x_i) . phi(x_j) = (x_i . x_j + constant)^2 for all pairs of rows.
inline Finding kernel_identity(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &x = c.problem.inputs.at("x"), &phi = outcome.values.at("phi"), &bound = outcome.bounds().at("phi");
  const auto n = static_cast<std::size_t>(c.problem.sizes.at("n")), d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("c"));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double got = 0, allowed = 0, kernel = constant_of(c.problem), size = kernel;
      for (std::size_t a = 0; a < width; ++a) {
        const double p = phi.values[i * width + a], q = phi.values[j * width + a], e = bound.values[i * width + a], f = bound.values[j * width + a];
        got += p * q;
        allowed += std::abs(p) * f + std::abs(q) * e + e * f + 0x1p-44 * std::abs(p * q);
      }
      for (std::size_t a = 0; a < d; ++a) kernel += x.values[i * d + a] * x.values[j * d + a], size += std::abs(x.values[i * d + a] * x.values[j * d + a]);
      const auto finding = laws::same(c, "phi(x) . phi(y)", {{1}, {got}}, {{1}, {allowed}}, {{1}, {kernel * kernel}}, {{1}, {0x1p-44 * size * size}},
                                      "the kernel of two rows");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
  return {};
}

/// Without a constant phi(factor x) = factor^2 phi(x); factors that every format multiplies by exactly.
inline Finding homogeneous(const Context& c, double factor) {
  if (constant_of(c.problem) != 0) return Finding::vacuous();
  Problem scaled = c.problem;
  for (double& x : scaled.inputs.at("x").values) x *= factor;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(scaled);
  const auto times = [&](Array x) {
    for (double& value : x.values) value *= factor * factor;
    return x;
  };
  return laws::same(c, "phi", other.values.at("phi"), other.bounds().at("phi"), times(plain.values.at("phi")), times(plain.bounds().at("phi")),
                    factor < 0 ? "x with the other sign" : "x doubled");
}
inline Finding even(const Context& c) { return homogeneous(c, -1); }
inline Finding of_degree_two(const Context& c) { return homogeneous(c, 2); }

inline std::vector<laws::Property> properties() { return {{"kernel identity", kernel_identity}, {"even", even}, {"of degree two", of_degree_two}}; }

}  // namespace attest::properties::linear::polynomial_feature_map
