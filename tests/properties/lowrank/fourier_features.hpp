// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::fourier_features {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// phi(x_i) . phi(x_j) of all rows, and how far each may be off.
struct Products {
  Array values, bounds;

  explicit Products(const Outcome& outcome) {
    const auto &phi = outcome.values.at("phi"), &bound = outcome.bounds().at("phi");
    const Index n = phi.shape[0], p = phi.shape[1];
    values = bounds = Array{{n, n}, std::vector<double>(static_cast<std::size_t>(n * n))};
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        for (Index t = 0; t < p; ++t) {
          const auto a = static_cast<std::size_t>(i * p + t), b = static_cast<std::size_t>(j * p + t),
                     at = static_cast<std::size_t>(i * n + j);
          const double x = phi.values[a], y = phi.values[b], u = bound.values[a], v = bound.values[b];
          values.values[at] += x * y;
          bounds.values[at] += u * std::abs(y) + v * std::abs(x) + u * v + 0x1p-48 * std::abs(x * y);
        }
  }
};

/// Two calls have the same inner products.
inline Finding same_products(const Context& c, const Problem& one, const Problem& other, const char* what) {
  const Products a(c.evaluate(one)), b(c.evaluate(other));
  return laws::same(c, "phi", a.values, a.bounds, b.values, b.bounds, what);
}

/// Small integers for rows and directions, so that what is added to rows or done to signs is exact.
inline Problem of_integers(const Context& c) { return laws::with_drawn(c, {"x", "w"}, "integers -2 2"); }

inline Finding unit_norm(const Context& c) {
  const Products products(c.evaluate(c.problem));
  const Index n = c.problem.sizes.at("n");
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i * n + i);
    if (!(std::abs(products.values.values[at] - 1) <= products.bounds.values[at]))
      return Finding::broken("row " + std::to_string(i) + " has the squared length " +
                             std::to_string(products.values.values[at]));
  }
  return {};
}

inline Finding bounded(const Context& c) {
  const Products products(c.evaluate(c.problem));
  for (std::size_t at = 0; at < products.values.values.size(); ++at)
    if (!(std::abs(products.values.values[at]) <= 1 + products.bounds.values[at]))
      return Finding::broken("an inner product is " + std::to_string(products.values.values[at]));
  return {};
}

/// The mean of cos(w_r . (x_i - x_j) / sigma), angles of small integers.
inline Finding difference_only(const Context& c) {
  const Problem problem = of_integers(c);
  const Products products(c.evaluate(problem));
  const double sigma = std::get<double>(*setting(problem, "sigma"));
  const auto &x = problem.inputs.at("x").values, &w = problem.inputs.at("w").values;
  const auto n = static_cast<std::size_t>(problem.sizes.at("n")), d = static_cast<std::size_t>(problem.sizes.at("d")),
             directions = static_cast<std::size_t>(problem.sizes.at("c"));
  Array expected = products.values, slack = products.values;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double mean = 0, largest = 1;
      for (std::size_t r = 0; r < directions; ++r) {
        double angle = 0;
        for (std::size_t a = 0; a < d; ++a) angle += w[r * d + a] * (x[i * d + a] - x[j * d + a]);
        largest = std::max(largest, std::abs(angle / sigma));
        mean += std::cos(angle / sigma) / static_cast<double>(directions);
      }
      expected.values[i * n + j] = mean;
      slack.values[i * n + j] = 0x1p-48 * largest;
    }
  return laws::same(c, "phi", products.values, products.bounds, expected, slack, "the mean of cosines of differences");
}

inline Finding translation(const Context& c) {
  const Problem here = of_integers(c);
  Problem there = here;
  const auto d = static_cast<std::size_t>(here.sizes.at("d"));
  auto& x = there.inputs.at("x").values;
  for (std::size_t t = 0; t < x.size(); ++t) x[t] += static_cast<double>(laws::choose(c, t % d, 5) - 2);
  return same_products(c, there, here, "one vector added to all rows");
}

inline Finding sign_of_w(const Context& c) {
  Problem other = c.problem;
  for (double& w : other.inputs.at("w").values) w = -w;
  return same_products(c, other, c.problem, "directions reversed");
}

inline std::vector<laws::Property> properties() {
  return {{"unit_norm", unit_norm},
          {"bounded", bounded},
          {"difference_only", difference_only},
          {"translation", translation},
          {"sign_of_w", sign_of_w}};
}

}  // namespace attest::properties::lowrank::fourier_features
