// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::depth_classifier {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Finding sum_to_one(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &q = outcome.values.at("q"), &bound = outcome.bounds().at("q");
  const auto layers = static_cast<std::size_t>(c.problem.sizes.at("n"));
  for (std::size_t row = 0; row < q.values.size(); row += layers) {
    double total = 0, allowed = 0x1p-48;
    for (std::size_t n = row; n < row + layers; ++n) total += q.values[n], allowed += bound.values[n];
    if (!(std::abs(total - 1) <= allowed)) return Finding::broken("a row of q sums to " + std::to_string(total));
  }
  return {};
}

/// The sequence twice, one behind the other: the rows of the first are what they were.
inline Finding duplication(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["kind"] = std::string("sequence");
  const Index tokens = c.problem.sizes.at("l");
  std::vector<Index> once(static_cast<std::size_t>(tokens)), twice;
  std::iota(once.begin(), once.end(), Index{0});
  for (int i = 0; i < 2; ++i) twice.insert(twice.end(), once.begin(), once.end());
  const Outcome plain = c.evaluate(problem), repeated = c.evaluate(laws::take_rows(problem, "l", twice));
  const auto& declared = c.problem.spec->outputs[0];
  return laws::same(c, "q", laws::take(repeated.values.at("q"), declared, "l", once),
                    laws::take(repeated.bounds().at("q"), declared, "l", once), plain.values.at("q"),
                    plain.bounds().at("q"), "the sequence twice");
}

/// W = 0: softmax(b), whatever the states.
inline Finding zero_weights(const Context& c) {
  Problem problem = c.problem;
  auto& w = problem.inputs.at("w").values;
  std::fill(w.begin(), w.end(), 0.0);
  const auto& b = problem.inputs.at("b").values;
  const double most = *std::max_element(b.begin(), b.end());
  double z = 0;
  for (const double x : b) z += std::exp(x - most);
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("q"), allowed = expected;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] = std::exp(b[i % b.size()] - most) / z;
    allowed.values[i] = 0x1p-44 * expected.values[i];
  }
  return laws::same(c, "q", outcome.values.at("q"), outcome.bounds().at("q"), expected, allowed, "softmax(b)");
}

inline std::vector<laws::Property> properties() {
  return {{"sum_to_one", sum_to_one}, {"duplication", duplication}, {"zero_weights", zero_weights}};
}

}  // namespace attest::properties::adaptive::depth_classifier
