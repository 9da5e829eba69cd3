// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "properties/attention/softmax.hpp"

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
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), expected, radius,
                    "softmax(x) sigma(lse(x))");
}

/// Adding b to a row of sum w changes its weights: a becomes e^b a / (1 + (e^b - 1) w).
inline Finding a_shifted_row(const Context& c) {
  Problem integers = c.problem;
  auto& x = integers.inputs.at("x");
  x = golden::draw_array("integers -4 4", x.shape, c.exact, c.seed,
                         "property.x");  // small integers: the shifted logits are exact
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

/// Attention with these weights is attention with one more key, of zeros, whose value is zeros.
inline Finding a_zero_key_and_value(const Context& c) {
  const Index r = c.problem.sizes.at("r"), s = c.problem.sizes.at("s"), d = 3, m = 2;
  const auto integers = [&](const char* name, Index rows, Index columns) {
    return golden::draw_array("integers -2 2", {rows, columns}, c.exact, c.seed, std::string("property.") + name);
  };
  Problem attention{
      &find_spec("attention.scaled_dot_product"), {{"n", r}, {"s", s + 1}, {"d", d}, {"m", m}}, {{"scale", 1.0}}, {}};
  attention.inputs = {{"q", integers("q", r, d)}, {"k", integers("k", s + 1, d)}, {"v", integers("v", s + 1, m)}};
  for (const char* name : {"k", "v"}) {
    auto& x = attention.inputs.at(name);
    std::fill(x.values.end() - x.shape[1], x.values.end(), 0.0);
  }
  Problem weights = c.problem;
  const auto &q = attention.inputs.at("q").values, &k = attention.inputs.at("k").values,
             &v = attention.inputs.at("v").values;
  auto& x = weights.inputs.at("x").values;
  for (std::size_t t = 0; t < x.size(); ++t) {
    const auto i = t / static_cast<std::size_t>(s) * 3, j = t % static_cast<std::size_t>(s) * 3;
    x[t] = q[i] * k[j] + q[i + 1] * k[j + 1] + q[i + 2] * k[j + 2];
  }
  if (const auto mask = c.problem.inputs.find("mask"); mask != c.problem.inputs.end()) {
    Array longer{{r, s + 1}, {}};
    for (Index t = 0; t < r * (s + 1); ++t)
      longer.values.push_back(
          t % (s + 1) == s ? 1 : mask->second.values[static_cast<std::size_t>(t / (s + 1) * s + t % (s + 1))]);
    attention.inputs["mask"] = longer;
  }
  const Outcome outcome = c.evaluate(weights);
  Array o{{r, m}, {}}, allowed{{r, m}, {}};
  for (Index i = 0; i < r; ++i)
    for (Index e = 0; e < m; ++e) {
      double total = 0, error = 0x1p-44;
      for (Index j = 0; j < s; ++j) {
        const auto t = static_cast<std::size_t>(i * s + j);
        const double value = v[static_cast<std::size_t>(j * m + e)];
        total += outcome.values.at("a").values[t] * value;
        error += outcome.bounds().at("a").values[t] * std::abs(value);
      }
      o.values.push_back(total), allowed.values.push_back(error);
    }
  const auto enclosure = golden::enclose(attention, "max_shift", 128);
  return laws::same(c, "a v", o, allowed, enclosure.middle.at("o"), enclosure.radius.at("o"),
                    "a key and a value of zeros");
}

/// a_j / a_k = e^(x_j - x_k), as in softmax.
inline Finding ratio(const Context& c) { return softmax::ratio(c); }

/// Far below 0 nothing is left: a <= e^x.
inline Finding vanish(const Context& c) {
  Problem low = softmax::with_logits(c);
  for (double& x : low.inputs.at("x").values) x -= 64;
  const Outcome outcome = c.evaluate(low);
  for (std::size_t t = 0; t < low.inputs.at("x").values.size(); ++t)
    if (!(outcome.values.at("a").values[t] <=
          std::exp(low.inputs.at("x").values[t]) + outcome.bounds().at("a").values[t]))
      return Finding::broken("a weight exceeds e^x");
  return {};
}

/// Far above 0 the one is nothing: softmax, up to e^-60.
inline Finding saturate(const Context& c) {
  Problem high = softmax::with_logits(c);
  for (double& x : high.inputs.at("x").values) x += 64;
  const auto enclosure =
      golden::enclose({&find_spec("attention.softmax"), high.sizes, {}, high.inputs}, "max_shift", 128);
  Array allowed = enclosure.radius.at("a");
  for (double& radius : allowed.values) radius += 0x1p-60;
  const Outcome outcome = c.evaluate(high);
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), enclosure.middle.at("a"), allowed,
                    "softmax");
}

inline std::vector<laws::Property> properties() {
  return {{"softmax_with_a_gate", softmax_with_a_gate},
          {"a_shifted_row", a_shifted_row},
          {"a_zero_key_and_value", a_zero_key_and_value},
          {"ratio", ratio},
          {"vanish", vanish},
          {"saturate", saturate}};
}

}  // namespace attest::properties::attention::softmax_one
