// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "properties/streaming/window_attention.hpp"

namespace attest::properties::streaming::window_recompute {

using laws::Context;
using laws::Finding;
using laws::Outcome;
using window_attention::rows_of_o;

inline Index window_of(const Problem& problem) { return std::get<Index>(*setting(problem, "window")); }

/// One layer without positions, on small integers, so that projections are exact.
inline Problem one_layer(const Context& c) {
  Problem problem = c.problem;
  problem.sizes["layers"] = 1;
  problem.parameters["position"] = std::string("none");
  const Index d = problem.sizes.at("d");
  auto& x = problem.inputs.at("x");
  x = golden::draw_array("integers -2 2", x.shape, c.exact, c.seed, "property.x");
  for (const char* name : {"w_q", "w_k", "w_v"})
    problem.inputs.at(name) =
        golden::draw_array("integers -1 1", {1, d, d}, c.exact, c.seed, std::string("property.") + name);
  return problem;
}

/// x W, in binary64.
inline Array projected(const Array& x, const Array& w) {
  const Index n = x.shape[0], d = x.shape[1];
  Array y{{n, d}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < d; ++c) {
      double total = 0;
      for (Index a = 0; a < d; ++a)
        total += x.values[static_cast<std::size_t>(i * d + a)] * w.values[static_cast<std::size_t>(a * d + c)];
      y.values.push_back(total);
    }
  return y;
}

/// One layer is this attention over queries, keys and values.
inline Finding layer_is(const Context& c, const Problem& layer, Problem attention, const char* form,
                        const std::string& what) {
  const Index d = layer.sizes.at("d");
  attention.sizes["d"] = attention.sizes["m"] = d;
  attention.sizes["n"] = layer.sizes.at("n");
  for (const char* name : {"q", "k", "v"})
    attention.inputs[name] = projected(layer.inputs.at("x"), layer.inputs.at(std::string("w_") + name));
  if (const auto scale = setting(layer, "scale")) attention.parameters["scale"] = *scale;
  const auto expected = golden::enclose(attention, form, 128);
  const Outcome outcome = c.evaluate(layer);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), what);
}

inline Finding single_layer(const Context& c) {
  const Problem layer = one_layer(c);
  const Index w = window_of(layer), d = layer.sizes.at("d");
  Problem attention{&find_spec("streaming.window_attention"), {{"w", w}}, {}, {}};
  for (const char* cache : {"cache_k", "cache_v"})
    attention.inputs[cache] = golden::draw_array("zeros", {w, d}, c.exact, c.seed, "property.cache");
  return layer_is(c, layer, attention, "mask", "one layer");
}

/// What is older than the window of the last token, at any depth.
inline Finding exact_locality(const Context& c) {
  const Index n = c.problem.sizes.at("n"), first = n - window_of(c.problem);
  if (first <= 0) return Finding::not_applicable();
  Problem changed = c.problem;
  Array& x = changed.inputs.at("x");
  const Array fresh = laws::redrawn(c, "x", 2);
  std::copy_n(fresh.values.begin(), first * x.shape[1], x.values.begin());
  return laws::identical(c, "o", rows_of_o(c, c.evaluate(c.problem), n - 1, 1),
                         rows_of_o(c, c.evaluate(changed), n - 1, 1), "changing tokens before the window");
}

/// One layer of causal attention; and longer windows change nothing, whatever the layers.
inline Finding full_limit(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  Problem layer = one_layer(c), whole = c.problem, longer = c.problem;
  layer.parameters["window"] = whole.parameters["window"] = n;
  longer.parameters["window"] = n + 1 + laws::choose(c, 1, 5);
  const auto finding =
      layer_is(c, layer, Problem{&find_spec("attention.scaled_dot_product"), {{"s", n}}, {{"causal", true}}, {}},
               "max_shift", "a window as long as the text");
  if (finding.kind == Finding::Kind::broken) return finding;
  return laws::identical(c, "o", c.evaluate(longer), c.evaluate(whole), "windows longer than the text");
}

/// Tokens that repeat: each full window is found again a period later, and so is its output.
inline Finding stationarity(const Context& c) {
  const Index n = c.problem.sizes.at("n"), window = window_of(c.problem), period = 1 + laws::choose(c, 1, 4);
  const Index count = n - period - (window - 1);
  if (count <= 0) return Finding::not_applicable();
  Problem repeated = c.problem;
  auto& x = repeated.inputs.at("x").values;
  const auto step = static_cast<std::size_t>(period * repeated.sizes.at("d"));
  for (std::size_t t = step; t < x.size(); ++t) x[t] = x[t - step];
  const Outcome outcome = c.evaluate(repeated);
  return laws::identical(c, "o", rows_of_o(c, outcome, window - 1 + period, count),
                         rows_of_o(c, outcome, window - 1, count), "the same windows later");
}

inline std::vector<laws::Property> properties() {
  return {{"single_layer", single_layer},
          {"exact_locality", exact_locality},
          {"full_limit", full_limit},
          {"stationarity", stationarity}};
}

}  // namespace attest::properties::streaming::window_recompute
