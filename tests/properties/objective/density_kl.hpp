// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::density_kl {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// One query of that variance, where sigma_0 is 1.
struct One {
  double value, bound;

  One(const Context& c, double variance) {
    Problem one = c.problem;
    one.sizes.at("n") = 1;
    one.parameters["sigma_0"] = 1.0;
    one.inputs.at("variance") = {{1}, {variance}};
    const Outcome outcome = c.evaluate(one);
    value = outcome.values.at("divergence").values[0];
    bound = outcome.bounds().at("divergence").values[0];
  }
};

/// A ratio that every format holds: k / 16, not 1.
inline double ratio(const Context& c, std::uint64_t salt) {
  const Index k = 1 + laws::choose(c, salt, 63);
  return static_cast<double>(k == 16 ? 64 : k) / 16;
}

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const double d = outcome.values.at("divergence").values[0];
  return d >= -outcome.bounds().at("divergence").values[0] ? Finding{}
                                                           : Finding::broken("the divergence is " + std::to_string(d));
}

/// Another variance costs something.
inline Finding only_if_equal(const Context& c) {
  const One other(c, ratio(c, 1));
  return other.value > other.bound ? Finding{} : Finding::broken("another variance costs nothing");
}

/// Four times the variance of a density that is to be twice as wide.
inline Finding scale(const Context& c) {
  Problem narrow = c.problem, wide = c.problem;
  narrow.parameters["sigma_0"] = 0.0625, wide.parameters["sigma_0"] = 0.125;
  for (double& v : wide.inputs.at("variance").values) v *= 4;
  const Outcome a = c.evaluate(narrow), b = c.evaluate(wide);
  return laws::same(c, "divergence", a.values.at("divergence"), a.bounds().at("divergence"), b.values.at("divergence"),
                    b.bounds().at("divergence"), "twice as wide");
}

/// The divergence of the mean of two ratios is at most the mean of theirs.
inline Finding convex(const Context& c) {
  const double x = ratio(c, 1), y = ratio(c, 2);
  const One a(c, x), b(c, y), middle(c, (x + y) / 2);
  if (!(middle.value <= (a.value + b.value) / 2 + middle.bound + (a.bound + b.bound) / 2))
    return Finding::broken("a ratio between two costs more than the mean of both");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"non_negative", non_negative}, {"only_if_equal", only_if_equal}, {"scale", scale}, {"convex", convex}};
}

}  // namespace attest::properties::objective::density_kl
