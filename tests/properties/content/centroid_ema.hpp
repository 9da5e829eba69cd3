// SPDX-License-Identifier: MIT
#pragma once

#include "attest/judge/laws.hpp"

namespace attest::properties::content::centroid_ema {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// A decay of 1 leaves every bit of the centroids.
inline Finding decay_one(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["decay"] = 1.0;
  const Outcome outcome = c.evaluate(problem);
  Outcome expected;
  expected.values["mu_next"] = problem.inputs.at("mu");
  expected.bounds = outcome.bounds;
  return laws::identical(c, "mu_next", outcome, expected, "a decay of 1");
}

/// Tokens of other clusters are drawn anew.
inline Finding cluster_independence(const Context& c) {
  const auto centroids = c.problem.sizes.at("c"), width = c.problem.sizes.at("d");
  const Index chosen = laws::choose(c, 1, centroids);
  Problem changed = c.problem;
  bool any = false;
  for (const auto& [tokens, clusters] : {std::pair{"q", "c_q"}, {"k", "c_k"}}) {
    auto& x = changed.inputs.at(tokens).values;
    const auto& of = c.problem.inputs.at(clusters).values;
    const Array fresh = laws::redrawn(c, tokens, 2);
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (of[t / static_cast<std::size_t>(width)] == static_cast<double>(chosen)) continue;
      x[t] = fresh.values[t];
      any = true;
    }
  }
  if (!any) return Finding::not_applicable();
  const auto row = [&](const Outcome& outcome) {
    const auto some = [&c, chosen](const Array& all) {
      return laws::take(all, *c.problem.spec->output("mu_next"), "c", {chosen});
    };
    Outcome kept;
    kept.values["mu_next"] = some(outcome.values.at("mu_next"));
    kept.bounds = [some, all = outcome.bounds, bounds = Arrays()]() mutable -> const Arrays& {
      bounds["mu_next"] = some(all().at("mu_next"));
      return bounds;
    };
    return kept;
  };
  return laws::identical(c, "mu_next", row(c.evaluate(c.problem)), row(c.evaluate(changed)),
                         "tokens of other clusters than " + std::to_string(chosen));
}

/// Every token is the centroid of its cluster.
inline Finding fixed_point(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["reduce"] = std::string("mean");
  problem.parameters["empty"] = std::string("keep");
  const Array& mu = problem.inputs.at("mu");
  for (const auto& [tokens, clusters] : {std::pair{"q", "c_q"}, {"k", "c_k"}}) {
    std::vector<Index> rows;
    for (const double cluster : problem.inputs.at(clusters).values) rows.push_back(static_cast<Index>(cluster));
    problem.inputs.at(tokens) = laws::take(mu, *problem.spec->input("mu"), "c", rows);
  }
  const Outcome outcome = c.evaluate(problem);
  Array exact = mu;
  for (double& x : exact.values) x = 0;
  return laws::same(c, "mu_next", outcome.values.at("mu_next"), outcome.bounds().at("mu_next"), mu, exact,
                    "members that are the centroid");
}

/// Centroids in reverse order, and clusters named so.
inline Finding centroid_permutation(const Context& c) {
  const Index centroids = c.problem.sizes.at("c");
  std::vector<Index> order;
  for (Index t = centroids; t-- > 0;) order.push_back(t);
  Problem reversed = c.problem;
  reversed.inputs.at("mu") = laws::take(c.problem.inputs.at("mu"), *c.problem.spec->input("mu"), "c", order);
  for (const char* clusters : {"c_q", "c_k"})
    for (double& cluster : reversed.inputs.at(clusters).values) cluster = static_cast<double>(centroids - 1) - cluster;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(reversed);
  const auto back = [&](const Array& x) { return laws::take(x, *c.problem.spec->output("mu_next"), "c", order); };
  return laws::same(c, "mu_next", back(other.values.at("mu_next")), back(other.bounds().at("mu_next")),
                    plain.values.at("mu_next"), plain.bounds().at("mu_next"), "centroids in reverse order");
}

inline std::vector<laws::Property> properties() {
  return {{"decay_one", decay_one},
          {"cluster_independence", cluster_independence},
          {"fixed_point", fixed_point},
          {"centroid_permutation", centroid_permutation}};
}

}  // namespace attest::properties::content::centroid_ema
