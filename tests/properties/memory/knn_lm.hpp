// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::knn_lm {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with that share.
inline Problem with_share(const Context& c, double share) {
  Problem problem = c.problem;
  problem.parameters["share"] = share;
  return problem;
}

/// p against the expected values, which are exact or rounded once.
inline Finding expect(const Context& c, const Problem& problem, const std::vector<double>& expected, const char* what) {
  const Outcome outcome = c.evaluate(problem);
  Array values = outcome.values.at("p"), bound = values;
  values.values = expected;
  for (std::size_t i = 0; i < expected.size(); ++i) bound.values[i] = 0x1p-52 * std::abs(expected[i]);
  return laws::same(c, "p", outcome.values.at("p"), outcome.bounds().at("p"), values, bound, what);
}

inline Finding sum_to_one(const Context& c) {
  Problem problem = c.problem;
  auto& p_lm = problem.inputs.at("p_lm").values;
  std::fill(p_lm.begin(), p_lm.end(), 0.0);
  p_lm.back() = 1;
  const Outcome outcome = c.evaluate(problem);
  Array total{{}, {0}}, allowed = total, zero = total;
  for (std::size_t i = 0; i < p_lm.size(); ++i) {
    total.values[0] += outcome.values.at("p").values[i];
    allowed.values[0] += outcome.bounds().at("p").values[i] + 0x1p-52;
  }
  return laws::same(c, "p", total, allowed, {{}, {1}}, zero, "the sum of p");
}

inline Finding lambda_zero(const Context& c) {
  const Problem problem = with_share(c, 0);
  return expect(c, problem, problem.inputs.at("p_lm").values, "share = 0");
}

inline Finding lambda_one(const Context& c) {
  const Problem problem = with_share(c, 1);
  Problem other = problem;
  other.inputs.at("p_lm") = laws::redrawn(c, "p_lm", 3);
  const Outcome plain = c.evaluate(problem), changed = c.evaluate(other);
  return laws::same(c, "p", plain.values.at("p"), plain.bounds().at("p"), changed.values.at("p"),
                    changed.bounds().at("p"), "another language model without a share");
}

inline Finding support(const Context& c) {
  const Problem problem = with_share(c, 0.5);
  const auto& words = problem.inputs.at("words").values;
  const Outcome outcome = c.evaluate(problem);
  bool any = false;
  for (std::size_t y = 0; y < outcome.values.at("p").values.size(); ++y) {
    if (std::count(words.begin(), words.end(), static_cast<double>(y)) > 0) continue;
    any = true;
    const Array got{{}, {outcome.values.at("p").values[y]}}, bound{{}, {outcome.bounds().at("p").values[y]}};
    const auto finding = laws::same(c, "p", got, bound, {{}, {problem.inputs.at("p_lm").values[y] / 2}}, {{}, {0}},
                                    "a word of no entry");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return any ? Finding{} : Finding::not_applicable();
}

/// All of p but one element is 0, and that is 1.
inline Finding k_one(const Context& c) {
  Problem problem = with_share(c, 1);
  if (std::get<Index>(*setting(problem, "top")) >= problem.sizes.at("s"))
    problem = laws::take_rows(problem, "s", {0});  // a kernel may be one that does not search
  else
    problem.parameters["top"] = Index{1};
  const Outcome outcome = c.evaluate(problem);
  const auto &p = outcome.values.at("p").values, &bound = outcome.bounds().at("p").values;
  int ones = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const bool one = std::abs(p[i] - 1) <= bound[i] + 0x1p-20;
    ones += one;
    if (!one && !(std::abs(p[i]) <= bound[i]))
      return Finding::broken("p[" + std::to_string(i) + "] of a single neighbour is neither 0 nor 1");
  }
  return ones == 1 ? Finding{} : Finding::broken("the word of a single neighbour has not all of the share");
}

/// The entries in the opposite order, where the farthest neighbour is not as far as an entry that is none.
inline Finding datastore_permutation(const Context& c) {
  const Index s = c.problem.sizes.at("s"), d = c.problem.sizes.at("d");
  const Index top = std::get<Index>(*setting(c.problem, "top"));
  if (s < 2) return Finding::not_applicable();
  if (top < s) {
    const auto &f = c.problem.inputs.at("f").values, &keys = c.problem.inputs.at("keys").values;
    std::vector<double> distances(static_cast<std::size_t>(s));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double gap = f[i % static_cast<std::size_t>(d)] - keys[i];
      distances[i / static_cast<std::size_t>(d)] += gap * gap;
    }
    std::sort(distances.begin(), distances.end());
    const auto edge = static_cast<std::size_t>(top);
    if (!(distances[edge] - distances[edge - 1] > distances[edge] / 32)) return Finding::not_applicable();
  }
  std::vector<Index> order(static_cast<std::size_t>(s));
  std::iota(order.rbegin(), order.rend(), Index{0});
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(laws::take_rows(c.problem, "s", order));
  return laws::same(c, "p", plain.values.at("p"), plain.bounds().at("p"), other.values.at("p"), other.bounds().at("p"),
                    "entries in the opposite order");
}

/// One more column in which every key is 2 away from f: all squared distances grow by 4.
inline Finding distance_shift(const Context& c) {
  const Index d = c.problem.sizes.at("d");
  if (d < 2 || std::get<std::string>(*setting(c.problem, "distance")) != "squared_l2") return Finding::not_applicable();
  Problem near = c.problem, far = c.problem;
  for (Problem* problem : {&near, &far}) {
    problem->inputs.at("f").values.back() = 0;
    auto& keys = problem->inputs.at("keys").values;
    for (std::size_t i = static_cast<std::size_t>(d) - 1; i < keys.size(); i += static_cast<std::size_t>(d))
      keys[i] = problem == &near ? 0 : 2;
  }
  const Outcome plain = c.evaluate(near), other = c.evaluate(far);
  return laws::same(c, "p", plain.values.at("p"), plain.bounds().at("p"), other.values.at("p"), other.bounds().at("p"),
                    "4 added to every distance");
}

/// Every entry says the same word: it has all of the share.
inline Finding aggregation(const Context& c) {
  Problem problem = with_share(c, 0.5);
  auto& words = problem.inputs.at("words").values;
  std::fill(words.begin(), words.end(), 0.0);
  std::vector<double> expected = problem.inputs.at("p_lm").values;
  for (double& p : expected) p /= 2;
  expected[0] += 0.5;
  return expect(c, problem, expected, "one word for all entries");
}

inline std::vector<laws::Property> properties() {
  return {{"sum_to_one", sum_to_one},
          {"lambda_zero", lambda_zero},
          {"lambda_one", lambda_one},
          {"support", support},
          {"k_one", k_one},
          {"distance_shift", distance_shift},
          {"aggregation", aggregation},
          {"datastore_permutation", datastore_permutation}};
}

}  // namespace attest::properties::memory::knn_lm
