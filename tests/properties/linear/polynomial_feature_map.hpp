// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::polynomial_feature_map {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double constant_of(const Problem& problem) { return std::get<double>(*setting(problem, "constant")); }

/// phi(x_i) . phi(x_j) of all pairs of rows, and how far the bounds of the features allow each to be off.
struct Gram {
  Array values, bound;

  explicit Gram(const Outcome& outcome) {
    const Array &phi = outcome.values.at("phi"), &bounds = outcome.bounds().at("phi");
    const Index n = phi.shape[0], width = phi.shape[1];
    values.shape = bound.shape = {n, n};
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double got = 0, allowed = 0;
        for (Index a = 0; a < width; ++a) {
          const auto row = static_cast<std::size_t>(i * width + a), column = static_cast<std::size_t>(j * width + a);
          const double p = phi.values[row], q = phi.values[column], e = bounds.values[row], f = bounds.values[column];
          got += p * q;
          allowed += std::abs(p) * f + std::abs(q) * e + e * f + 0x1p-44 * std::abs(p * q);
        }
        values.values.push_back(got);
        bound.values.push_back(allowed);
      }
  }
};

/// phi(x_i) . phi(x_j) = (x_i . x_j + constant)^2 for all pairs of rows.
inline Finding kernel_identity(const Context& c) {
  const Array& x = c.problem.inputs.at("x");
  const Index n = x.shape[0], d = x.shape[1];
  Array kernel{{n, n}, {}}, slack = kernel;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      double value = constant_of(c.problem), size = value;
      for (Index a = 0; a < d; ++a) {
        const double term =
            x.values[static_cast<std::size_t>(i * d + a)] * x.values[static_cast<std::size_t>(j * d + a)];
        value += term, size += std::abs(term);
      }
      kernel.values.push_back(value * value);
      slack.values.push_back(0x1p-44 * size * size);
    }
  const Gram gram(c.evaluate(c.problem));
  return laws::same(c, "phi phi^T", gram.values, gram.bound, kernel, slack, "the kernel of two rows");
}

/// Features are signed, their inner products are not negative.
inline Finding nonnegative_kernel(const Context& c) {
  const Gram gram(c.evaluate(c.problem));
  for (std::size_t i = 0; i < gram.values.values.size(); ++i)
    if (gram.values.values[i] < -gram.bound.values[i])
      return Finding::broken("an inner product of features is " + std::to_string(gram.values.values[i]));
  return {};
}

/// Both layouts have the same inner products.
inline Finding layouts_agree(const Context& c) {
  Problem other = c.problem;
  const Index width = c.problem.sizes.at("d") + (constant_of(c.problem) > 0 ? 1 : 0);
  const bool full = std::get<std::string>(*setting(c.problem, "layout")) == "full";
  other.parameters["layout"] = std::string(full ? "symmetric" : "full");
  other.sizes["c"] = full ? width * (width + 1) / 2 : width * width;
  const Gram here(c.evaluate(c.problem)), there(c.evaluate(other));
  return laws::same(c, "phi phi^T", here.values, here.bound, there.values, there.bound, "the other layout");
}

/// Linear attention with these features is attention with the kernel (q . k + constant)^2 itself.
inline Finding linear_attention_is_the_kernels(const Context& c) {
  const Index n = c.problem.sizes.at("n"), m = 2;
  const Outcome outcome = c.evaluate(c.problem);
  const Array &x = c.problem.inputs.at("x"), &phi = outcome.values.at("phi");
  const Array v = golden::draw_array("integers -3 3", {n, m}, c.exact, c.seed, "property.v");
  Problem linear{&find_spec("linear.attention"),
                 {{"n", n}, {"s", n}, {"c", c.problem.sizes.at("c")}, {"m", m}},
                 {},
                 {{"phi_q", phi}, {"phi_k", phi}, {"v", v}}};
  Problem kernel{&find_spec("attention.generalized"),
                 {{"n", n}, {"s", n}, {"d", c.problem.sizes.at("d")}, {"m", m}},
                 {{"sim", std::string("polynomial")}, {"power", Index{2}}, {"offset", constant_of(c.problem)}},
                 {{"q", x}, {"k", x}, {"v", v}}};
  const auto got = golden::enclose(linear, "quadratic", 192), expected = golden::enclose(kernel, "weights", 192);
  // The largest change of a quotient of sums of weights by the errors of the features.
  const Gram gram(outcome);
  Array allowed = got.radius.at("o");
  for (Index i = 0; i < n; ++i) {
    double denominator = 0, error = 0;
    for (Index j = 0; j < n; ++j) {
      denominator += gram.values.values[static_cast<std::size_t>(i * n + j)];
      error += gram.bound.values[static_cast<std::size_t>(i * n + j)];
    }
    if (!(denominator > 2 * error)) return Finding::not_applicable();
    for (Index b = 0; b < m; ++b)
      allowed.values[static_cast<std::size_t>(i * m + b)] += (3 + 3) * error / (denominator - error);
  }
  return laws::same(c, "o", got.middle.at("o"), allowed, expected.middle.at("o"), expected.radius.at("o"),
                    "attention with the kernel");
}

/// Without a constant phi(factor x) = factor^2 phi(x); factors that every format multiplies by exactly.
inline Finding homogeneous(const Context& c, double factor) {
  if (constant_of(c.problem) != 0) return Finding::not_applicable();
  Problem scaled = c.problem;
  for (double& x : scaled.inputs.at("x").values) x *= factor;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(scaled);
  const auto times = [&](Array x) {
    for (double& value : x.values) value *= factor * factor;
    return x;
  };
  return laws::same(c, "phi", other.values.at("phi"), other.bounds().at("phi"), times(plain.values.at("phi")),
                    times(plain.bounds().at("phi")), factor < 0 ? "x with the other sign" : "x doubled");
}
inline Finding even(const Context& c) { return homogeneous(c, -1); }
inline Finding of_degree_two(const Context& c) { return homogeneous(c, 2); }

inline std::vector<laws::Property> properties() {
  return {{"kernel_identity", kernel_identity},
          {"nonnegative_kernel", nonnegative_kernel},
          {"layouts_agree", layouts_agree},
          {"linear_attention_is_the_kernels", linear_attention_is_the_kernels},
          {"even", even},
          {"of_degree_two", of_degree_two}};
}

}  // namespace attest::properties::linear::polynomial_feature_map
