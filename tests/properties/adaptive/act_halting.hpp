// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::act_halting {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Probabilities that are multiples of 1/64 and an eps that is none, so that every kernel takes the same decisions.
inline Problem decided(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["eps"] = 0x1p-7;
  auto& p = problem.inputs.at("p").values;
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<double>(laws::choose(c, 100 + i, 33)) / 64;
  return problem;
}

inline std::size_t steps_of(const Context& c) { return static_cast<std::size_t>(c.problem.sizes.at("t")); }
inline bool has(const Outcome& outcome, const char* name) { return outcome.values.count(name) != 0; }

inline Finding weights_sum_to_one(const Context& c) {
  const Outcome outcome = c.evaluate(decided(c));
  if (!has(outcome, "weights")) return Finding::not_applicable();
  const Array &w = outcome.values.at("weights"), &bound = outcome.bounds().at("weights");
  for (std::size_t row = 0; row < w.values.size(); row += steps_of(c)) {
    double total = 0, allowed = 0x1p-48;
    for (std::size_t t = row; t < row + steps_of(c); ++t) total += w.values[t], allowed += bound.values[t];
    if (!(std::abs(total - 1) <= allowed)) return Finding::broken("weights sum to " + std::to_string(total));
  }
  return {};
}

/// 1 <= n <= T, and eps < R <= 1 for n < T.
inline Finding ranges(const Context& c) {
  const Outcome outcome = c.evaluate(decided(c));
  if (!has(outcome, "steps") || !has(outcome, "remainders")) return Finding::not_applicable();
  const auto &n = outcome.values.at("steps").values, &r = outcome.values.at("remainders").values;
  const auto most = static_cast<double>(steps_of(c));
  for (std::size_t i = 0; i < n.size(); ++i) {
    const double error = outcome.bounds().at("remainders").values[i];
    if (!(n[i] >= 1 && n[i] <= most)) return Finding::broken("a token takes " + std::to_string(n[i]) + " steps");
    if (n[i] < most && !(r[i] >= 0x1p-7 - error && r[i] <= 1 + error))
      return Finding::broken("a remainder is " + std::to_string(r[i]));
  }
  return {};
}

/// p_1 = 1: one step, and its state.
inline Finding immediate(const Context& c) {
  Problem problem = decided(c);
  problem.parameters["output"] = std::string("weighted");
  auto& p = problem.inputs.at("p").values;
  for (std::size_t i = 0; i < p.size(); i += steps_of(c)) p[i] = 1;
  const Outcome outcome = c.evaluate(problem);
  for (const char* name : {"steps", "remainders"})
    if (has(outcome, name))
      for (const double x : outcome.values.at(name).values)
        if (x != 1) return Finding::broken(std::string(name) + " is " + std::to_string(x) + " where p_1 = 1");
  Array expected = outcome.values.at("y"), zero = expected;
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("d"));
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] = problem.inputs.at("s").values[i / width * width * steps_of(c) + i % width];
    zero.values[i] = 0;
  }
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), expected, zero, "the first state");
}

/// The steps that each token takes under decided().
inline std::vector<std::size_t> steps(const Context& c, const Problem& problem) {
  std::vector<std::size_t> all;
  const auto& p = problem.inputs.at("p").values;
  for (std::size_t row = 0; row < p.size(); row += steps_of(c)) {
    double total = p[row];
    std::size_t n = 1;
    while (n < steps_of(c) && total < 1 - 0x1p-7) total += p[row + n++];
    all.push_back(n);
  }
  return all;
}

/// Other probabilities and states after the last step of each token leave every bit.
inline Finding later_irrelevant(const Context& c) {
  const Problem problem = decided(c);
  Problem other = problem;
  const auto last = steps(c, problem);
  const Array p = laws::redrawn(c, "p", 1), s = laws::redrawn(c, "s", 2);
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("d"));
  for (std::size_t i = 0; i < last.size(); ++i)
    for (std::size_t t = last[i]; t < steps_of(c); ++t) {
      const std::size_t at = i * steps_of(c) + t;
      other.inputs.at("p").values[at] = std::abs(p.values[at]);
      for (std::size_t a = at * width; a < (at + 1) * width; ++a) other.inputs.at("s").values[a] = s.values[a];
    }
  const Outcome plain = c.evaluate(problem), changed = c.evaluate(other);
  for (const char* name : {"y", "weights", "steps", "remainders"}) {
    if (!has(plain, name)) continue;
    const auto finding = laws::identical(c, name, plain, changed, "other later steps");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Twice the probabilities: no more steps.
inline Finding monotone(const Context& c) {
  const Problem problem = decided(c);
  Problem larger = problem;
  for (double& p : larger.inputs.at("p").values) p *= 2;
  const Outcome few = c.evaluate(larger), many = c.evaluate(problem);
  if (!has(few, "steps")) return Finding::not_applicable();
  for (std::size_t i = 0; i < few.values.at("steps").values.size(); ++i)
    if (few.values.at("steps").values[i] > many.values.at("steps").values[i])
      return Finding::broken("larger probabilities lead to more steps");
  return {};
}

/// output = 'last' is the state of the last step.
inline Finding frozen(const Context& c) {
  Problem problem = decided(c);
  problem.parameters["output"] = std::string("last");
  const auto last = steps(c, problem);
  const Outcome outcome = c.evaluate(problem);
  Outcome expected;
  expected.values["y"] = outcome.values.at("y");
  expected.bounds = outcome.bounds;
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("d"));
  auto& y = expected.values.at("y").values;
  for (std::size_t i = 0; i < last.size(); ++i)
    for (std::size_t a = 0; a < width; ++a)
      y[i * width + a] = problem.inputs.at("s").values[(i * steps_of(c) + last[i] - 1) * width + a];
  return laws::identical(c, "y", outcome, expected, "the state of the last step");
}

inline std::vector<laws::Property> properties() {
  return {{"weights_sum_to_one", weights_sum_to_one}, {"ranges", ranges},     {"immediate", immediate},
          {"later_irrelevant", later_irrelevant},     {"monotone", monotone}, {"frozen", frozen}};
}

}  // namespace attest::properties::adaptive::act_halting
