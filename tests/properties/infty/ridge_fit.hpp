// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::ridge_fit {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double penalty(const Problem& problem) { return std::get<double>(*setting(problem, "penalty")); }

/// Sizes, and the tensors of a fit by index.
struct Fit {
  Fit(const Problem& problem, const Outcome& outcome)
      : l(problem.sizes.at("l")),
        d(problem.sizes.at("d")),
        b(problem.sizes.at("b")),
        lambda(penalty(problem)),
        x_(problem.inputs.at("x").values),
        psi_(problem.inputs.at("psi").values),
        coefficients_(outcome.values.at("coefficients").values),
        bounds_(outcome.bounds().at("coefficients").values) {}

  double x(Index t, Index a) const { return x_[static_cast<std::size_t>(t * d + a)]; }
  double psi(Index k, Index t) const { return psi_[static_cast<std::size_t>(k * l + t)]; }
  double coefficient(Index a, Index k) const { return coefficients_[static_cast<std::size_t>(a * b + k)]; }
  double bound(Index a, Index k) const { return bounds_[static_cast<std::size_t>(a * b + k)]; }
  /// psi psi^T + lambda I
  double gram(Index k, Index j) const {
    double total = k == j ? lambda : 0;
    for (Index t = 0; t < l; ++t) total += psi(k, t) * psi(j, t);
    return total;
  }

  Index l, d, b;
  double lambda;

private:
  const std::vector<double>&x_, &psi_, &coefficients_, &bounds_;
};

/// coefficients (psi psi^T + lambda I) = x^T psi^T, to what the bounds of the coefficients make of it.
inline Finding normal_equation(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Fit fit(c.problem, outcome);
  for (Index a = 0; a < fit.d; ++a)
    for (Index j = 0; j < fit.b; ++j) {
      double rest = 0, allowed = 0, size = 0;
      for (Index k = 0; k < fit.b; ++k) {
        rest += fit.coefficient(a, k) * fit.gram(k, j);
        allowed += fit.bound(a, k) * std::abs(fit.gram(k, j));
        size += std::abs(fit.coefficient(a, k) * fit.gram(k, j));
      }
      for (Index t = 0; t < fit.l; ++t)
        rest -= fit.x(t, a) * fit.psi(j, t), size += std::abs(fit.x(t, a) * fit.psi(j, t));
      if (!(std::abs(rest) <= allowed + 0x1p-46 * size))
        return Finding::broken("the normal equation of row " + std::to_string(a) + " is off by " +
                               std::to_string(rest));
    }
  return {};
}

/// Steps of 1 along a random direction, forth and back, have a larger penalised error.
inline Finding optimality(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Fit fit(c.problem, outcome);
  const auto step = golden::draw_array("integers -2 2", {fit.d, fit.b}, DType::f64, c.seed, "property.step").values;
  for (const double sign : {1.0, -1.0})
    for (Index a = 0; a < fit.d; ++a) {
      // the change of |c psi - x|^2 + lambda |c|^2 is s (2 gradient + gram s)
      double change = 0, slack = 0;
      for (Index k = 0; k < fit.b; ++k) {
        const double s = sign * step[static_cast<std::size_t>(a * fit.b + k)];
        for (Index j = 0; j < fit.b; ++j) {
          const double s_j = sign * step[static_cast<std::size_t>(a * fit.b + j)];
          change += s * fit.gram(k, j) * (2 * fit.coefficient(a, j) + s_j);
          slack += std::abs(s * fit.gram(k, j)) *
                   (2 * fit.bound(a, j) + 0x1p-46 * (std::abs(fit.coefficient(a, j)) + std::abs(s_j)));
        }
        for (Index t = 0; t < fit.l; ++t) change -= 2 * s * fit.psi(k, t) * fit.x(t, a);
      }
      if (!(change >= -slack)) return Finding::broken("other coefficients of row " + std::to_string(a) + " fit better");
    }
  return {};
}

/// Other tokens in all columns but one leave that one's coefficients.
inline Finding column_independence(const Context& c) { return laws::columns_apart(c, "x", "coefficients", "d"); }

/// |x_fit| <= |x|, column by column.
inline Finding shrinkage(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  if (!outcome.values.count("x_fit")) return Finding::not_applicable();
  const Array &x = c.problem.inputs.at("x"), &fit = outcome.values.at("x_fit"), &bound = outcome.bounds().at("x_fit");
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  for (std::size_t a = 0; a < d; ++a) {
    double before = 0, after = 0, allowed = 0;
    for (std::size_t i = a; i < x.values.size(); i += d)
      before += x.values[i] * x.values[i], after += fit.values[i] * fit.values[i],
          allowed += bound.values[i] * bound.values[i];
    if (!(std::sqrt(after) <= std::sqrt(before) * (1 + 0x1p-46) + std::sqrt(allowed)))
      return Finding::broken("column " + std::to_string(a) + " is longer after the fit");
  }
  return {};
}

/// lambda coefficients = x^T psi^T but for a share trace(psi psi^T) / lambda.
inline Finding large_lambda(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["penalty"] = 0x1p20;
  const Outcome outcome = c.evaluate(problem);
  const Fit fit(problem, outcome);
  double trace = 0;
  for (Index k = 0; k < fit.b; ++k) trace += fit.gram(k, k) - fit.lambda;
  for (Index a = 0; a < fit.d; ++a) {
    double length = 0;
    for (Index k = 0; k < fit.b; ++k) {
      double projection = 0;
      for (Index t = 0; t < fit.l; ++t) projection += fit.psi(k, t) * fit.x(t, a);
      length += projection * projection;
    }
    for (Index k = 0; k < fit.b; ++k) {
      double rest = fit.lambda * fit.coefficient(a, k);
      for (Index t = 0; t < fit.l; ++t) rest -= fit.psi(k, t) * fit.x(t, a);
      if (!(std::abs(rest) <= fit.lambda * fit.bound(a, k) + (trace / fit.lambda + 0x1p-46) * std::sqrt(length) * 2))
        return Finding::broken("lambda times a coefficient differs from its projection by " + std::to_string(rest));
    }
  }
  return {};
}

/// Functions that are 1 at a token each and 0 at the others: x_fit = x / (1 + lambda).
inline Finding interpolation(const Context& c) {
  constexpr double kPenalty = 0x1p-12;
  Problem problem = c.problem;
  const Index l = problem.sizes.at("l"), b = problem.sizes.at("b");
  if (b < l) return Finding::not_applicable();
  problem.parameters["penalty"] = kPenalty;
  auto& psi = problem.inputs.at("psi").values;
  for (Index k = 0; k < b; ++k)
    for (Index t = 0; t < l; ++t) psi[static_cast<std::size_t>(k * l + t)] = k == t ? 1 : 0;
  const Outcome outcome = c.evaluate(problem);
  if (!outcome.values.count("x_fit")) return Finding::not_applicable();
  Array expected = problem.inputs.at("x"), slack = expected;
  for (double& x : slack.values) x = kPenalty * std::abs(x);
  return laws::same(c, "x_fit", outcome.values.at("x_fit"), outcome.bounds().at("x_fit"), expected, slack,
                    "the signal at its tokens");
}

inline std::vector<laws::Property> properties() {
  return {{"normal_equation", normal_equation},
          {"optimality", optimality},
          {"column_independence", column_independence},
          {"shrinkage", shrinkage},
          {"large_lambda", large_lambda},
          {"interpolation", interpolation}};
}

}  // namespace attest::properties::infty::ridge_fit
