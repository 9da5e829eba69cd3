// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::streaming::attention_entropy {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with logits of a recipe; small integers, so that what is done to them is exact.
inline Problem with_logits(const Context& c, const std::string& recipe = "integers -4 4") {
  return laws::with_drawn(c, {"x"}, recipe);
}

inline Index visible_in(const Problem& problem, Index r) {
  const Index s = problem.sizes.at("s");
  const Array* mask = given(problem, Role::mask);
  if (!mask) return s;
  return std::accumulate(mask->values.begin() + r * s, mask->values.begin() + (r + 1) * s, Index{0},
                         [](Index total, double x) { return total + (x != 0); });
}

/// holds(H_r, its bound, how many entries are visible) in each row that sees something.
template <class F>
Finding each_row(const Context& c, const Problem& problem, const std::string& what, F&& holds) {
  const Outcome outcome = c.evaluate(problem);
  bool any = false;
  for (Index r = 0; r < problem.sizes.at("r"); ++r) {
    const Index count = visible_in(problem, r);
    if (count == 0) continue;
    any = true;
    const auto at = static_cast<std::size_t>(r);
    if (!holds(outcome.values.at("h").values[at], outcome.bounds().at("h").values[at] + 0x1p-46,
               static_cast<double>(count)))
      return Finding::broken("h[" + std::to_string(r) + "] " + what);
  }
  return any ? Finding{} : Finding::not_applicable();
}

/// 0 <= H <= ln |S|
inline Finding range(const Context& c) {
  return each_row(c, c.problem, "lies outside of 0 .. ln |S|",
                  [](double h, double bound, double count) { return h >= -bound && h <= std::log(count) + bound; });
}

/// Equal logits have H = ln |S|.
inline Finding uniform(const Context& c) {
  return each_row(c, with_logits(c, "constant 3"), "of equal logits is not ln |S|",
                  [](double h, double bound, double count) { return std::abs(h - std::log(count)) <= bound; });
}

/// Logits in [-1, 1] have H >= ln |S| - 2.
inline Finding bounded_logits(const Context& c) {
  return each_row(c, with_logits(c, "integers -1 1"), "is below ln |S| - 2 B",
                  [](double h, double bound, double count) { return h >= std::log(count) - 2 - bound; });
}

/// An empty row has H = 0.
inline Finding empty_row(const Context& c) {
  if (!given(c.problem, Role::mask)) return Finding::not_applicable();
  Problem empty = c.problem;
  auto& mask = empty.inputs.at("mask");
  std::fill_n(mask.values.begin(), mask.shape[1], 0.0);
  const double h = c.evaluate(empty).values.at("h").values[0];
  return h == 0 ? Finding{} : Finding::broken("h of an empty row is not 0");
}

/// Twice the logits have no larger entropy.
inline Finding temperature(const Context& c) {
  const Problem plain = with_logits(c);
  Problem sharper = plain;
  for (double& x : sharper.inputs.at("x").values) x *= 2;
  const Outcome before = c.evaluate(plain), after = c.evaluate(sharper);
  for (std::size_t r = 0; r < before.values.at("h").values.size(); ++r)
    if (after.values.at("h").values[r] >
        before.values.at("h").values[r] + before.bounds().at("h").values[r] + after.bounds().at("h").values[r])
      return Finding::broken("h[" + std::to_string(r) + "] grew although all logits were doubled");
  return {};
}

/// Every entry twice adds ln 2.
inline Finding duplication(const Context& c) {
  std::vector<Index> order;
  for (Index j = 0; j < c.problem.sizes.at("s"); ++j) order.insert(order.end(), {j, j});
  const Outcome plain = c.evaluate(c.problem), twice = c.evaluate(laws::take_rows(c.problem, "s", order));
  Array expected = plain.values.at("h"), allowed = plain.bounds().at("h");
  for (Index r = 0; r < c.problem.sizes.at("r"); ++r)
    if (visible_in(c.problem, r) > 0) {
      expected.values[static_cast<std::size_t>(r)] += std::log(2.0);
      allowed.values[static_cast<std::size_t>(r)] += 0x1p-46;
    }
  return laws::same(c, "h", twice.values.at("h"), twice.bounds().at("h"), expected, allowed, "every entry twice");
}

inline std::vector<laws::Property> properties() {
  return {{"range", range},         {"uniform", uniform},         {"bounded_logits", bounded_logits},
          {"empty_row", empty_row}, {"temperature", temperature}, {"duplication", duplication}};
}

}  // namespace attest::properties::streaming::attention_entropy
