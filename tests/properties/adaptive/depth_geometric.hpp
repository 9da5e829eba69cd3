// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::depth_geometric {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::size_t entry(const Context& c, Index t, Index n) {
  return static_cast<std::size_t>(t * c.problem.sizes.at("n") + n);
}

/// The exits from a layer on have the mass that the layers before it leave: all of it for the first.
inline Finding mass_from(const Context& c, Index first) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &q = outcome.values.at("q"), &bound = outcome.bounds().at("q");
  const auto& x = c.problem.inputs.at("x").values;
  const bool logits = std::get<std::string>(*setting(c.problem, "given")) == "logits";
  for (Index t = 0; t < c.problem.sizes.at("t"); ++t) {
    double left = 1, total = 0, allowed = 0;
    for (Index n = 0; n < first; ++n) {
      const double of = x[entry(c, t, n)];
      left *= logits ? 1 / (1 + std::exp(of)) : 1 - of;
    }
    for (Index n = first; n < c.problem.sizes.at("n"); ++n)
      total += q.values[entry(c, t, n)], allowed += bound.values[entry(c, t, n)] + 0x1p-52;
    const auto finding = laws::same(c, "q", {{}, {total}}, {{}, {allowed}}, {{}, {left}}, {{}, {0x1p-44}},
                                    "the mass left by the layers before");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline Finding sum_to_one(const Context& c) { return mass_from(c, 0); }

inline Finding tail(const Context& c) {
  const Index layers = c.problem.sizes.at("n");
  return layers < 2 ? Finding::not_applicable() : mass_from(c, 1 + laws::choose(c, 1, layers - 1));
}

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Array &q = outcome.values.at("q"), &bound = outcome.bounds().at("q");
  for (std::size_t i = 0; i < q.values.size(); ++i)
    if (!(q.values[i] >= -bound.values[i])) return Finding::broken("q is " + std::to_string(q.values[i]));
  return {};
}

/// All mass on one layer, for probabilities of 0 and 1.
inline Finding all_mass_on(const Context& c, Problem problem, Index layer, const char* what) {
  problem.parameters["given"] = std::string("probabilities");
  const Outcome outcome = c.evaluate(problem);
  Array expected = outcome.values.at("q"), zero = expected;
  for (Index t = 0; t < c.problem.sizes.at("t"); ++t)
    for (Index n = 0; n < c.problem.sizes.at("n"); ++n) expected.values[entry(c, t, n)] = n == layer ? 1 : 0;
  std::fill(zero.values.begin(), zero.values.end(), 0.0);
  return laws::same(c, "q", outcome.values.at("q"), outcome.bounds().at("q"), expected, zero, what);
}

inline Finding never(const Context& c) {
  Problem problem = c.problem;
  auto& x = problem.inputs.at("x").values;
  std::fill(x.begin(), x.end(), 0.0);
  return all_mass_on(c, problem, c.problem.sizes.at("n") - 1, "no token leaves before the last layer");
}

inline Finding always(const Context& c) {
  // Logits of the other layers are no probabilities.
  if (std::get<std::string>(*setting(c.problem, "given")) == "logits") return Finding::not_applicable();
  Problem problem = c.problem;
  for (Index t = 0; t < c.problem.sizes.at("t"); ++t) problem.inputs.at("x").values[entry(c, t, 0)] = 1;
  return all_mass_on(c, problem, 0, "every token leaves after the first layer");
}

/// Other probabilities from a layer on leave the bits of the exits before it.
inline Finding prefix(const Context& c) {
  const Index layers = c.problem.sizes.at("n");
  if (layers < 2) return Finding::not_applicable();
  const Index first = 1 + laws::choose(c, 1, layers - 1);
  Problem other = c.problem;
  const Array fresh = laws::redrawn(c, "x", 2);
  for (Index t = 0; t < c.problem.sizes.at("t"); ++t)
    for (Index n = first; n < layers; ++n) other.inputs.at("x").values[entry(c, t, n)] = fresh.values[entry(c, t, n)];
  const Outcome plain = c.evaluate(c.problem);
  Outcome changed = c.evaluate(other);
  const Array bounds = changed.bounds().at("q");
  Arrays kept{{"q", bounds}};
  for (Index t = 0; t < c.problem.sizes.at("t"); ++t)
    for (Index n = first; n < layers; ++n) {
      changed.values.at("q").values[entry(c, t, n)] = plain.values.at("q").values[entry(c, t, n)];
      kept.at("q").values[entry(c, t, n)] = plain.bounds().at("q").values[entry(c, t, n)];
    }
  changed.bounds = [&]() -> const Arrays& { return kept; };
  return laws::identical(c, "q", plain, changed, "other probabilities of later layers");
}

inline std::vector<laws::Property> properties() {
  return {{"sum_to_one", sum_to_one}, {"non_negative", non_negative},
          {"never", never},           {"always", always},
          {"prefix", prefix},         {"tail", tail}};
}

}  // namespace attest::properties::adaptive::depth_geometric
