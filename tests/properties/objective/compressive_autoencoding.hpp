// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::compressive_autoencoding {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double of(const Outcome& outcome) { return outcome.values.at("loss").values[0]; }
inline double error_of(const Outcome& outcome) { return outcome.bounds().at("loss").values[0]; }

inline Problem normed(Problem problem, const char* norm) {
  problem.parameters["norm"] = std::string(norm);
  return problem;
}

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  return of(outcome) >= -error_of(outcome) ? Finding{} : Finding::broken("the loss is " + std::to_string(of(outcome)));
}

/// Every matrix the identity: C_j at each place of block j.
inline Problem repeated(const Context& c) {
  Problem problem = normed(c.problem, "squared");  // the root has no slope at 0
  const auto f = static_cast<std::size_t>(c.problem.sizes.at("f")),
             places = static_cast<std::size_t>(c.problem.sizes.at("c"));
  auto &w = problem.inputs.at("w").values, &old = problem.inputs.at("old").values;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = i / f % f == i % f ? 1 : 0;
  const auto& compressed = problem.inputs.at("compressed").values;
  for (std::size_t i = 0; i < old.size(); ++i) old[i] = compressed[i / f / places * f + i % f];
  return problem;
}

inline Finding zero_iff_exact(const Context& c) {
  const Problem exact = repeated(c);
  const Outcome outcome = c.evaluate(exact);
  const auto finding = laws::same(c, "loss", outcome.values.at("loss"), outcome.bounds().at("loss"), {{}, {0.0}},
                                  {{}, {0.0}}, "a decoder that gives back what was compressed");
  if (finding.kind == Finding::Kind::broken) return finding;
  Problem other = exact;
  auto& x = other.inputs.at("old").values[static_cast<std::size_t>(laws::choose(c, 1, other.inputs.at("old").size()))];
  x = x < 0 ? 2 : -2;
  const Outcome off = c.evaluate(other);
  return of(off) > error_of(off) ? Finding{} : Finding::broken("an element that is not given back costs nothing");
}

/// One row a block, kept as it is and given back as it is.
inline Finding rate_one(const Context& c) {
  Problem one = c.problem;
  one.sizes.at("c") = 1;
  const Index k = one.sizes.at("k"), f = one.sizes.at("f");
  auto &old = one.inputs.at("old"), &w = one.inputs.at("w");
  old.shape = {k, 1, f}, w.shape = {1, f, f};
  old.values = one.inputs.at("compressed").values;
  w.values.assign(static_cast<std::size_t>(f * f), 0.0);
  for (Index a = 0; a < f; ++a) w.values[static_cast<std::size_t>(a * f + a)] = 1;
  const Outcome outcome = c.evaluate(normed(one, "squared"));
  return laws::same(c, "loss", outcome.values.at("loss"), outcome.bounds().at("loss"), {{}, {0.0}}, {{}, {0.0}},
                    "memories that are kept as they are");
}

/// O and C times -2 cost twice as much.
inline Finding homogeneity(const Context& c) {
  Problem once = normed(c.problem, "frobenius"), twice = once;
  for (const char* name : {"old", "compressed"})
    for (double& x : twice.inputs.at(name).values) x *= -2;
  const Outcome a = c.evaluate(once), b = c.evaluate(twice);
  return laws::same(c, "loss", b.values.at("loss"), b.bounds().at("loss"), {{}, {2 * of(a)}}, {{}, {2 * error_of(a)}},
                    "memories times -2");
}

inline Finding norm_relation(const Context& c) {
  const Outcome norm = c.evaluate(normed(c.problem, "frobenius")), squared = c.evaluate(normed(c.problem, "squared"));
  const double expected = of(norm) * of(norm);
  const double error = 2 * of(norm) * error_of(norm) + error_of(norm) * error_of(norm) + 0x1p-51 * expected;
  return laws::same(c, "loss", squared.values.at("loss"), squared.bounds().at("loss"), {{}, {expected}}, {{}, {error}},
                    "the square of the norm");
}

inline std::vector<laws::Property> properties() {
  return {{"non_negative", non_negative},
          {"zero_iff_exact", zero_iff_exact},
          {"rate_one", rate_one},
          {"homogeneity", homogeneity},
          {"norm_relation", norm_relation}};
}

}  // namespace attest::properties::objective::compressive_autoencoding
