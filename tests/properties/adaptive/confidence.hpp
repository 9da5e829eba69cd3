// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::confidence {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Problem of_kind(const Context& c, const char* kind) {
  Problem problem = c.problem;
  problem.parameters["kind"] = std::string(kind);
  return problem;
}

/// Every row lies between `least` and 1.
inline Finding in_range(const Context& c, const char* kind, double least) {
  const Outcome outcome = c.evaluate(of_kind(c, kind));
  const Array &value = outcome.values.at("c"), &bound = outcome.bounds().at("c");
  for (std::size_t r = 0; r < value.values.size(); ++r) {
    const double x = value.values[r];
    if (!std::isnan(x) && !(x >= least - bound.values[r] && x <= 1 + bound.values[r]))
      return Finding::broken("a confidence is " + std::to_string(x));
  }
  return {};
}
inline Finding response_range(const Context& c) { return in_range(c, "response", 0); }
inline Finding cosine_range(const Context& c) { return in_range(c, "saturation", -1); }

/// Every row is x.
inline Finding all_are(const Context& c, const Problem& problem, double x, const char* what) {
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("c"), zero = expected;
  std::fill(expected.values.begin(), expected.values.end(), x);
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "c", outcome.values.at("c"), outcome.bounds().at("c"), expected, zero, what);
}

inline Finding uniform_zero(const Context& c) {
  Problem problem = of_kind(c, "response");
  auto& logits = problem.inputs.at("logits").values;
  std::fill(logits.begin(), logits.end(), 2.0);
  return all_are(c, problem, problem.sizes.at("s") == 1 ? 1 : 0, "equal logits");
}

inline Finding identical_one(const Context& c) {
  Problem problem = of_kind(c, "saturation");
  problem.inputs.at("before") =
      golden::draw_array("uniform 1 2", problem.inputs.at("before").shape, c.exact, c.seed, "property.before");
  problem.inputs.at("after") = problem.inputs.at("before");
  return all_are(c, problem, 1, "a layer that changes nothing");
}

inline Finding symmetric(const Context& c) {
  const Problem plain = of_kind(c, "saturation");
  Problem exchanged = plain;
  std::swap(exchanged.inputs.at("before"), exchanged.inputs.at("after"));
  const Outcome a = c.evaluate(plain), b = c.evaluate(exchanged);
  return laws::same(c, "c", a.values.at("c"), a.bounds().at("c"), b.values.at("c"), b.bounds().at("c"),
                    "before and after exchanged");
}

inline std::vector<laws::Property> properties() {
  return {{"response_range", response_range},
          {"cosine_range", cosine_range},
          {"uniform_zero", uniform_zero},
          {"identical_one", identical_one},
          {"symmetric", symmetric}};
}

}  // namespace attest::properties::adaptive::confidence
