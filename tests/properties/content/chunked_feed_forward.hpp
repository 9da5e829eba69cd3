// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::content::chunked_feed_forward {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// One chunk: the network of y_1 by its own equation, with x_2 in place of 0 as its output bias for each token.
inline Finding one_chunk(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["chunks"] = Index{1};
  const Index n = problem.sizes.at("n"), d = problem.sizes.at("d");
  Problem plain{&find_spec("attention.feed_forward"), {{"n", 1}, {"d", d}, {"f", problem.sizes.at("f")}}, {}, {}};
  plain.parameters["activation"] = *setting(problem, "activation");
  for (const char* name : {"w_1", "b_1", "w_2"})
    if (problem.inputs.count(name)) plain.inputs[name] = problem.inputs.at(name);
  Array zeros{{n, d}, std::vector<double>(static_cast<std::size_t>(n * d), 0.0)};
  problem.inputs.erase("b_2");
  Array expected = zeros, radius = zeros;
  for (Index i = 0; i < n; ++i) {
    const auto row = [&](const char* name, std::vector<Index> shape) {
      const auto from = problem.inputs.at(name).values.begin() + i * d;
      return Array{std::move(shape), std::vector<double>(from, from + d)};
    };
    plain.inputs["x"] = row("y_1", {1, d});
    plain.inputs["b_2"] = row("x_2", {d});
    const auto enclosure = golden::enclose(plain, "dense", 128);
    std::copy_n(enclosure.middle.at("y").values.begin(), d, expected.values.begin() + i * d);
    std::copy_n(enclosure.radius.at("y").values.begin(), d, radius.values.begin() + i * d);
  }
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "y_2", outcome.values.at("y_2"), outcome.bounds().at("y_2"), expected, radius, "one chunk");
}

/// A network of zeros leaves every bit of x_2.
inline Finding zero_network(const Context& c) {
  Problem problem = c.problem;
  problem.inputs.erase("b_2");
  auto& w_2 = problem.inputs.at("w_2").values;
  std::fill(w_2.begin(), w_2.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  Outcome expected;
  expected.values["y_2"] = problem.inputs.at("x_2");
  expected.bounds = outcome.bounds;
  return laws::identical(c, "y_2", outcome, expected, "a network of zeros");
}

inline std::vector<laws::Property> properties() { return {{"one_chunk", one_chunk}, {"zero_network", zero_network}}; }

}  // namespace attest::properties::content::chunked_feed_forward
