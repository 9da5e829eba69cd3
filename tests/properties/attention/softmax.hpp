// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::softmax {

using laws::Context;
using laws::Finding;
using laws::Outcome;
using Entries = std::vector<std::size_t>;

/// check(visible entries) for each row in which something is visible.
template <class F>
Finding each_row(const Problem& problem, F&& check) {
  const Index s = problem.sizes.at("s");
  const auto mask = problem.inputs.find("mask");
  bool any = false;
  for (Index row = 0; row < problem.sizes.at("r"); ++row) {
    Entries seen;
    for (Index t = row * s; t < (row + 1) * s; ++t)
      if (mask == problem.inputs.end() || mask->second.values[static_cast<std::size_t>(t)] != 0)
        seen.push_back(static_cast<std::size_t>(t));
    if (seen.empty()) continue;
    any = true;
    const Finding finding = check(seen);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return any ? Finding{} : Finding::not_applicable();
}

/// One number that must be within `allowed` of another.
inline Finding close(const Context& c, const std::string& name, double got, double allowed, double expected,
                     const std::string& what) {
  return laws::same(c, name, {{1}, {got}}, {{1}, {allowed}}, {{1}, {expected}},
                    {{1}, {0x1p-46 * (1 + std::abs(expected))}}, what);
}

/// The problem with the logits of a recipe; small integers, so that sums and differences of logits are exact.
inline Problem with_logits(const Context& c, const std::string& recipe = "integers -4 4") {
  return laws::with_drawn(c, {"x"}, recipe);
}

/// The weights of a row sum to 1.
inline Finding sum_to_one(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &a = outcome.values.at("a"), &bound = outcome.bounds().at("a");
  return each_row(c.problem, [&](const Entries& seen) {
    double total = 0, allowed = 0;
    for (const auto t : seen) total += a.values[t], allowed += bound.values[t];
    return close(c, "sum of a", total, allowed, 1, "a row");
  });
}

/// a_j / a_k = e^(x_j - x_k)
inline Finding ratio(const Context& c) {
  const Problem problem = with_logits(c);
  const Outcome outcome = c.evaluate(problem);
  const Array &a = outcome.values.at("a"), &bound = outcome.bounds().at("a"), &x = problem.inputs.at("x");
  return each_row(problem, [&](const Entries& seen) {
    for (const auto j : seen) {
      const auto k = seen.front();
      const double factor = std::exp(x.values[j] - x.values[k]);
      const auto finding = close(c, "a", a.values[j], bound.values[j] + factor * bound.values[k], factor * a.values[k],
                                 "e^(x_j - x_k) a_k");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
    return Finding{};
  });
}

/// Raising one logit raises its weight and lowers every other.
inline Finding monotone(const Context& c) {
  const Problem plain = with_logits(c);
  Problem raised = plain;
  const auto s = static_cast<std::size_t>(c.problem.sizes.at("s")),
             column = static_cast<std::size_t>(laws::choose(c, 1, c.problem.sizes.at("s")));
  for (std::size_t t = column; t < raised.inputs.at("x").values.size(); t += s) raised.inputs.at("x").values[t] += 1;
  const Outcome before = c.evaluate(plain), after = c.evaluate(raised);
  return each_row(plain, [&](const Entries& seen) {
    if (std::none_of(seen.begin(), seen.end(), [&](std::size_t t) { return t % s == column; })) return Finding{};
    for (const auto t : seen) {
      const double rise = after.values.at("a").values[t] - before.values.at("a").values[t];
      const double allowed = after.bounds().at("a").values[t] + before.bounds().at("a").values[t];
      if (t % s == column ? rise < -allowed : rise > allowed)
        return Finding::broken("a weight moved against the logit that was raised");
    }
    return Finding{};
  });
}

/// A row under a mask is the softmax of what the mask leaves, side by side.
inline Finding masking_is_removal(const Context& c) {
  if (!c.problem.inputs.count("mask")) return Finding::not_applicable();
  const Outcome masked = c.evaluate(c.problem);
  return each_row(c.problem, [&](const Entries& seen) {
    const auto count = static_cast<Index>(seen.size());
    const auto chosen = [&](const Array& array) {
      Array some{{1, count}, {}};
      for (const auto t : seen) some.values.push_back(array.values[t]);
      return some;
    };
    Problem alone = c.problem;
    alone.sizes["r"] = 1, alone.sizes["s"] = count;
    alone.inputs = {{"x", chosen(c.problem.inputs.at("x"))}};
    const Outcome outcome = c.evaluate(alone);
    return laws::same(c, "a", chosen(masked.values.at("a")), chosen(masked.bounds().at("a")), outcome.values.at("a"),
                      outcome.bounds().at("a"), "the visible entries alone");
  });
}

/// Of two entries the first has weight sigma(x_0 - x_1).
inline Finding two_is_sigmoid(const Context& c) {
  Problem two = c.problem;
  two.sizes["s"] = 2;
  two.inputs = {
      {"x", golden::draw_array("integers -8 8", {c.problem.sizes.at("r"), 2}, c.exact, c.seed, "property.x")}};
  const Outcome outcome = c.evaluate(two);
  const auto& x = two.inputs.at("x").values;
  return each_row(two, [&](const Entries& seen) {
    const auto t = seen[0];
    return close(c, "a", outcome.values.at("a").values[t], outcome.bounds().at("a").values[t],
                 1 / (1 + std::exp(x[t + 1] - x[t])), "sigma(x_0 - x_1)");
  });
}

/// Equal logits share a row equally.
inline Finding uniform(const Context& c) {
  const Problem equal = with_logits(c, "constant 3");
  const Outcome outcome = c.evaluate(equal);
  return each_row(equal, [&](const Entries& seen) {
    for (const auto t : seen) {
      const auto finding = close(c, "a", outcome.values.at("a").values[t], outcome.bounds().at("a").values[t],
                                 1 / static_cast<double>(seen.size()), "equal logits");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
    return Finding{};
  });
}

/// |a(x) - a(y)|_1 <= |x - y|_inf
inline Finding lipschitz(const Context& c) {
  const Problem here = with_logits(c);
  Problem there = here;
  const Array step = golden::draw_array("integers -2 2", here.inputs.at("x").shape, c.exact, c.seed, "property.step");
  for (std::size_t t = 0; t < step.values.size(); ++t) there.inputs.at("x").values[t] += step.values[t] / 8;
  const Outcome at_x = c.evaluate(here), at_y = c.evaluate(there);
  return each_row(here, [&](const Entries& seen) {
    double moved = 0, allowed = 0x1p-46, distance = 0;
    for (const auto t : seen) {
      moved += std::abs(at_x.values.at("a").values[t] - at_y.values.at("a").values[t]);
      allowed += at_x.bounds().at("a").values[t] + at_y.bounds().at("a").values[t];
      distance = std::max(distance, std::abs(step.values[t]) / 8);
    }
    return moved <= distance + allowed ? Finding{} : Finding::broken("weights moved farther than their logits");
  });
}

/// 0 <= -sum a ln a <= ln n in each row of n visible entries, and ln n - 2 B <= -sum a ln a for logits in [-B, B].
inline Finding entropy_between(const Context& c, double logit_bound) {
  const Problem problem = with_logits(c, logit_bound == 0 ? "integers -4 4" : "integers -1 1");
  const Outcome outcome = c.evaluate(problem);
  return each_row(problem, [&](const Entries& seen) {
    double entropy = 0, allowed = 0x1p-44;
    for (const auto t : seen) {
      const double a = outcome.values.at("a").values[t], bound = outcome.bounds().at("a").values[t];
      if (a > 0) entropy -= a * std::log(a);
      allowed += 2 * bound * (1 + std::abs(std::log(std::max(a, bound) + 0x1p-60)));
    }
    const double most = std::log(static_cast<double>(seen.size())),
                 least = logit_bound == 0 ? 0 : most - 2 * logit_bound;
    if (entropy > most + allowed) return Finding::broken("the entropy of a row is larger than that of equal weights");
    return entropy < least - allowed ? Finding::broken("bounded logits, and an entropy below ln n - 2 B") : Finding{};
  });
}
inline Finding entropy_is_at_most_that_of_equal_weights(const Context& c) { return entropy_between(c, 0); }
inline Finding bounded_logits_spread(const Context& c) { return entropy_between(c, 1); }

inline std::vector<laws::Property> properties() {
  return {{"sum_to_one", sum_to_one},
          {"ratio", ratio},
          {"monotone", monotone},
          {"masking_is_removal", masking_is_removal},
          {"two_is_sigmoid", two_is_sigmoid},
          {"uniform", uniform},
          {"lipschitz", lipschitz},
          {"entropy_is_at_most_that_of_equal_weights", entropy_is_at_most_that_of_equal_weights},
          {"bounded_logits_spread", bounded_logits_spread}};
}

}  // namespace attest::properties::attention::softmax
