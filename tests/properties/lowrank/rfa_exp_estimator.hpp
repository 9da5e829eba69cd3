// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::rfa_exp_estimator {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double sigma_of(const Problem& problem) { return std::get<double>(*setting(problem, "sigma")); }

/// Whether lengths are taken for 1.
inline bool are_unit(const Context& c) { return std::get<std::string>(*setting(c.problem, "norms")) == "unit"; }

/// Rows of halves.
inline Problem of_halves(const Context& c) { return laws::with_drawn(c, {"x", "y", "w"}, "integers -2 2", 0.5); }

inline Finding agree(const Context& c, const Problem& one, const Problem& other, const char* what) {
  return laws::agree(c, "est", one, other, what);
}

/// est against expected(pair), known to 2^-44 of `size(pair)`.
template <class F, class G>
Finding expect(const Context& c, const Problem& problem, F&& expected, G&& size, const char* what) {
  const Outcome outcome = c.evaluate(problem);
  Array right = outcome.values.at("est"), slack = right;
  for (std::size_t i = 0; i < right.values.size(); ++i)
    right.values[i] = expected(i), slack.values[i] = 0x1p-44 * size(i);
  return laws::same(c, "est", outcome.values.at("est"), outcome.bounds().at("est"), right, slack, what);
}

/// a_i . b_i of two inputs.
inline double product(const Problem& problem, const char* a, const char* b, std::size_t i) {
  const auto &x = problem.inputs.at(a).values, &y = problem.inputs.at(b).values;
  const auto d = static_cast<std::size_t>(problem.sizes.at("d"));
  double total = 0;
  for (std::size_t e = i * d; e < (i + 1) * d; ++e) total += x[e] * y[e];
  return total;
}

/// x = y gives e^(|x|^2 / sigma^2): the squared length of phi is 1.
inline Finding exact_at_equal(const Context& c) {
  if (are_unit(c)) return Finding::not_applicable();
  Problem problem = of_halves(c);
  problem.inputs.at("y") = problem.inputs.at("x");
  const double sigma = sigma_of(problem);
  const auto exact = [&](std::size_t i) { return std::exp(product(problem, "x", "x", i) / (sigma * sigma)); };
  return expect(c, problem, exact, exact, "x = y");
}

inline Finding symmetric(const Context& c) {
  Problem other = c.problem;
  std::swap(other.inputs.at("x").values, other.inputs.at("y").values);
  return agree(c, other, c.problem, "x and y exchanged");
}

/// Rows with one entry of 1 or -1 have length 1 exactly.
inline Finding unit_case(const Context& c) {
  if (are_unit(c)) return Finding::not_applicable();
  Problem computed = c.problem;
  const Index d = computed.sizes.at("d"), n = computed.sizes.at("n");
  for (const char* name : {"x", "y"}) {
    auto& x = computed.inputs.at(name).values;
    std::fill(x.begin(), x.end(), 0.0);
    for (Index i = 0; i < n; ++i) {
      const auto salt = static_cast<std::uint64_t>(2 * i) + (name[0] == 'x' ? 0 : 1);
      x[static_cast<std::size_t>(i * d + laws::choose(c, salt, d))] = laws::choose(c, salt + 1000, 2) == 0 ? 1 : -1;
    }
  }
  Problem unit = computed;
  unit.parameters["norms"] = std::string("unit");
  return agree(c, unit, computed, "lengths of 1 that are computed");
}

/// est = e^(x . y / sigma^2) e^(|x - y|^2 / (2 sigma^2)) mean_r cos(w_r . (x - y) / sigma)
inline Finding polarisation(const Context& c) {
  if (are_unit(c)) return Finding::not_applicable();
  const Problem problem = of_halves(c);
  const double sigma = sigma_of(problem);
  const auto &x = problem.inputs.at("x").values, &y = problem.inputs.at("y").values, &w = problem.inputs.at("w").values;
  const auto d = static_cast<std::size_t>(problem.sizes.at("d")), directions = w.size() / d;
  const auto factor = [&](std::size_t i) {
    double distance = 0;
    for (std::size_t a = i * d; a < (i + 1) * d; ++a) distance += (x[a] - y[a]) * (x[a] - y[a]);
    return std::exp((product(problem, "x", "y", i) + distance / 2) / (sigma * sigma));
  };
  const auto mean = [&](std::size_t i) {
    double total = 0;
    for (std::size_t r = 0; r < directions; ++r) {
      double angle = 0;
      for (std::size_t a = 0; a < d; ++a) angle += w[r * d + a] * (x[i * d + a] - y[i * d + a]);
      total += std::cos(angle / sigma) / static_cast<double>(directions);
    }
    return total;
  };
  return expect(c, problem, [&](std::size_t i) { return factor(i) * mean(i); }, factor, "the identity of polarisation");
}

/// x, y and w of small eighths before and after a turn by one angle in the plane of the first two columns.
inline Finding rotation(const Context& c) {
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  if (d < 2) return Finding::not_applicable();
  Problem plain = of_halves(c), turned = plain;
  for (const char* name : {"x", "y", "w"}) {
    auto &x = plain.inputs.at(name).values, &z = turned.inputs.at(name).values;
    for (std::size_t row = 0; row < x.size(); row += d) {
      const double a = x[row], b = x[row + 1];  // times 5/8, so that the rotation by (3/5, 4/5) is exact
      x[row] = 0.625 * a, x[row + 1] = 0.625 * b;
      z[row] = 0.125 * (3 * a - 4 * b), z[row + 1] = 0.125 * (4 * a + 3 * b);
    }
  }
  return agree(c, turned, plain, "x, y and w turned together");
}

inline std::vector<laws::Property> properties() {
  return {{"exact_at_equal", exact_at_equal},
          {"symmetric", symmetric},
          {"unit_case", unit_case},
          {"polarisation", polarisation},
          {"rotation", rotation}};
}

}  // namespace attest::properties::lowrank::rfa_exp_estimator
