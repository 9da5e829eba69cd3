// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::softmax_one {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// a = softmax(x) sigma(lse(x)) with the weights and the log-sum-exp of attention.softmax: rows sum to sigma(lse) < 1.
inline Finding softmax_with_a_gate(const Context& c) {
  const Problem softmax{&find_spec("attention.softmax"), c.problem.sizes, {}, c.problem.inputs};
  const auto enclosure = golden::enclose(softmax, "max_shift", 128);
  Array expected = enclosure.middle.at("a"), radius = expected;
  const Index s = c.problem.sizes.at("s");
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double lse = enclosure.middle.at("lse").values[i / static_cast<std::size_t>(s)];
    expected.values[i] = std::isinf(lse) ? 0 : expected.values[i] / (1 + std::exp(-lse));
    radius.values[i] = std::isinf(lse) ? 0 : 0x1p-48 * (4 + std::abs(lse)) * expected.values[i];
  }
  const Outcome outcome = c.evaluate(c.problem);
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), expected, radius, "softmax(x) sigma(lse(x))");
}

/// Adding b to a row of sum w changes its weights: a becomes e^b a / (1 + (e^b - 1) w).
inline Finding a_shifted_row(const Context& c) {
  Problem integers = c.problem;
  auto& x = integers.inputs.at("x");
  x = golden::draw_array("integers -4 4", x.shape, c.exact, c.seed, "property.x");  // small integers: the shifted logits are exact
  Problem shifted = integers;
  for (double& logit : shifted.inputs.at("x").values) logit += 1;
  const Outcome plain = c.evaluate(integers), other = c.evaluate(shifted);
  const Array &a = plain.values.at("a"), &bound = plain.bounds().at("a");
  Array expected = a, allowed = bound;
  const auto s = static_cast<std::size_t>(c.problem.sizes.at("s"));
  const double e = std::exp(1.0);
  for (std::size_t row = 0; row < a.values.size(); row += s) {
    double sum = 0, error = 0;
    for (std::size_t j = row; j < row + s; ++j) sum += a.values[j], error += bound.values[j];
    for (std::size_t j = row; j < row + s; ++j) {
      expected.values[j] = e * a.values[j] / (1 + (e - 1) * sum);
      allowed.values[j] = e * bound.values[j] + e * (e - 1) * a.values[j] * error + 0x1p-46 * a.values[j];
    }
  }
  return laws::same(c, "a", other.values.at("a"), other.bounds().at("a"), expected, allowed, "logits raised by 1");
}

inline std::vector<laws::Property> properties() {
  return {{"softmax with a gate", softmax_with_a_gate}, {"a shifted row", a_shifted_row}};
}

}  // namespace attest::properties::attention::softmax_one
