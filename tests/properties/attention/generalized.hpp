// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::generalized {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::string similarity(const Context& c) { return std::get<std::string>(*setting(c.problem, "sim")); }

/// exp_dot is attention.scaled_dot_product.
inline Finding exp_is_softmax(const Context& c) {
  if (similarity(c) != "exp_dot" || std::get<std::string>(*setting(c.problem, "zero_denominator")) != "zero") return Finding::vacuous();
  Problem attention{&find_spec("attention.scaled_dot_product"), c.problem.sizes, {}, c.problem.inputs};
  for (const char* name : {"scale", "causal"})
    if (const auto value = setting(c.problem, name)) attention.parameters[name] = *value;
  const auto enclosure = golden::enclose(attention, "max_shift", 128);
  const Outcome outcome = c.evaluate(c.problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), enclosure.middle.at("o"), enclosure.radius.at("o"),
                    "softmax attention");
}

/// Turning queries and keys by one angle in the plane of two columns changes nothing: no product, no distance.
inline Finding rotation(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  if (d < 2 || similarity(c) == "feature_dot") return Finding::vacuous();
  Problem plain = c.problem, turned = c.problem;
  for (const char* name : {"q", "k"}) {
    auto& x = plain.inputs.at(name);
    x = golden::draw_array("integers -2 2", x.shape, c.exact, c.seed, std::string("property.") + name);
    auto& y = turned.inputs.at(name) = x;
    for (std::size_t row = 0; row < x.values.size(); row += static_cast<std::size_t>(d)) {
      const double a = x.values[row], b = x.values[row + 1];  // times 5/8, so that the rotation by (3/5, 4/5) is exact
      x.values[row] = 0.625 * a, x.values[row + 1] = 0.625 * b;
      y.values[row] = 0.125 * (3 * a - 4 * b), y.values[row + 1] = 0.125 * (4 * a + 3 * b);
    }
  }
  const Outcome before = c.evaluate(plain), after = c.evaluate(turned);
  return laws::same(c, "o", after.values.at("o"), after.bounds().at("o"), before.values.at("o"), before.bounds().at("o"),
                    "a rotation of queries and keys");
}

/// An even power of q.k does not see the sign of q.
inline Finding sign_of_even_powers(const Context& c) {
  const bool even = std::get<Index>(*setting(c.problem, "power")) % 2 == 0;
  if (similarity(c) != "polynomial" || !even || std::get<double>(*setting(c.problem, "offset")) != 0) return Finding::vacuous();
  Problem negated = c.problem;
  for (double& x : negated.inputs.at("q").values) x = -x;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(negated);
  return laws::same(c, "o", other.values.at("o"), other.bounds().at("o"), plain.values.at("o"), plain.bounds().at("o"), "negated queries");
}

inline std::vector<laws::Property> properties() {
  return {{"exp_dot is softmax attention", exp_is_softmax}, {"rotation", rotation}, {"even powers do not see a sign", sign_of_even_powers}};
}

}  // namespace attest::properties::attention::generalized
