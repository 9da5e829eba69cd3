// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::orthogonal_projection {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// w_r . w_s, and by how much it may be off.
inline std::pair<double, double> product(const Outcome& outcome, Index d, Index r, Index s) {
  const auto &w = outcome.values.at("w").values, &bound = outcome.bounds().at("w").values;
  double total = 0, allowed = 0;
  for (Index a = 0; a < d; ++a) {
    const auto i = static_cast<std::size_t>(r * d + a), j = static_cast<std::size_t>(s * d + a);
    total += w[i] * w[j];
    allowed +=
        bound[i] * std::abs(w[j]) + bound[j] * std::abs(w[i]) + bound[i] * bound[j] + 0x1p-48 * std::abs(w[i] * w[j]);
  }
  return {total, allowed};
}

inline Finding orthogonal_within_block(const Context& c) {
  const Index d = c.problem.sizes.at("d"), rows = c.problem.sizes.at("c");
  if (d < 2 || rows < 2) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  for (Index r = 0; r < rows; ++r)
    for (Index s = r / d * d; s < r; ++s)
      if (const auto [total, allowed] = product(outcome, d, r, s); !(std::abs(total) <= allowed))
        return Finding::broken("w_" + std::to_string(r) + " . w_" + std::to_string(s) + " = " + std::to_string(total));
  return {};
}

inline Finding lengths(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  const bool chi = std::get<std::string>(*setting(c.problem, "lengths")) == "chi";
  const auto& h = c.problem.inputs.at("h").values;
  const Outcome outcome = c.evaluate(c.problem);
  for (Index r = 0; r < c.problem.sizes.at("c"); ++r) {
    double square = chi ? 0 : static_cast<double>(d);
    for (Index a = 0; a < d && chi; ++a) square += std::pow(h[static_cast<std::size_t>(r * d + a)], 2);
    if (const auto [total, allowed] = product(outcome, d, r, r);
        !(std::abs(total - square) <= allowed + 0x1p-48 * square))
      return Finding::broken("|w_" + std::to_string(r) + "|^2 = " + std::to_string(total) + " in place of " +
                             std::to_string(square));
  }
  return {};
}

/// The same call twice.
inline Finding determinism(const Context& c) {
  const Outcome first = c.evaluate(c.problem), second = c.evaluate(c.problem);
  return laws::identical(c, "w", first, second, "the same call again");
}

inline std::vector<laws::Property> properties() {
  return {{"orthogonal_within_block", orthogonal_within_block}, {"lengths", lengths}, {"determinism", determinism}};
}

}  // namespace attest::properties::lowrank::orthogonal_projection
