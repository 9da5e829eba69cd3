// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::scaled_dot_product {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with queries, keys and values of small integers, so that what is done to them is exact.
inline Problem of_integers(const Context& c) { return laws::with_drawn(c, {"q", "k", "v"}, "integers -2 2"); }

/// The same output from both.
inline Finding agree(const Context& c, const Problem& a, const Problem& b, const std::string& what) {
  return laws::agree(c, "o", a, b, what);
}

/// Whether the window around key i + (s - n) holds key j; that of an equation without windows holds all.
inline bool in_window(const Problem& problem, Index i, Index j) {
  const Index after = j - i - problem.sizes.at("s") + problem.sizes.at("n");
  const auto reaches = [&](Role side, Index distance) {
    const auto length = setting(problem, side);
    return !length || std::get<Index>(*length) < 0 || distance <= std::get<Index>(*length);
  };
  return reaches(Role::window_left, -after) && reaches(Role::window_right, after);
}

/// Key j is visible to query i.
inline bool sees(const Problem& problem, Index i, Index j) {
  const Index n = problem.sizes.at("n"), s = problem.sizes.at("s");
  const auto hidden = [&](const char* name, auto&& hides) {
    const auto x = problem.inputs.find(name);
    return x != problem.inputs.end() && hides(x->second.values[static_cast<std::size_t>(i * s + j)]);
  };
  const bool future = std::get<bool>(*setting(problem, "causal")) && j > i + (s - n);
  return !future && in_window(problem, i, j) && !hidden("mask", [](double x) { return x == 0; }) &&
         !hidden("bias", [](double x) { return std::isinf(x); });
}

/// The first `count` rows of every tensor along queries and keys.
inline Problem first_tokens(const Problem& problem, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  return laws::take_rows(laws::take_rows(problem, "n", order), "s", order);
}

/// Causal, with as many queries as keys.
inline Problem causal_square(const Context& c) {
  Problem square = first_tokens(c.problem, std::min(c.problem.sizes.at("n"), c.problem.sizes.at("s")));
  square.parameters["causal"] = true;
  return square;
}

/// Queries and keys of small integers before and after a turn by one angle in the plane of two columns.
inline std::pair<Problem, Problem> turned(const Context& c) {
  return laws::turned(c, {"q", "k"}, c.problem.sizes.at("d"));
}

/// Turning queries and keys together changes nothing: no product changes.
inline Finding rotation(const Context& c) {
  if (c.problem.sizes.at("d") < 2) return Finding::not_applicable();
  const auto [plain, other] = turned(c);
  return agree(c, other, plain, "a rotation of queries and keys");
}

/// Adding one vector to every key shifts all logits of a query by one number, if they are not capped.
inline Finding key_translation(const Context& c) {
  Problem plain = of_integers(c);
  plain.inputs.erase("sink");
  plain.parameters.erase("softcap");
  Problem moved = plain;
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  auto& k = moved.inputs.at("k").values;
  for (std::size_t t = 0; t < k.size(); ++t) k[t] += static_cast<double>(laws::choose(c, t % d, 5) - 2);
  return agree(c, moved, plain, "one vector added to every key");
}

/// (2 q, k / 2) has the products of (q, k).
inline Finding qk_rescale(const Context& c) {
  const Problem plain = of_integers(c);
  Problem scaled = plain;
  for (double& x : scaled.inputs.at("q").values) x *= 2;
  for (double& x : scaled.inputs.at("k").values) x /= 2;
  return agree(c, scaled, plain, "queries doubled, keys halved");
}

/// Causal attention of the first tokens is the first rows of causal attention.
inline Finding prefix(const Context& c) {
  Problem whole = causal_square(c);
  const Index n = whole.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  whole.parameters["empty_row"] = std::string("zero");  // a mean of all values looks ahead
  const Index count = 1 + laws::choose(c, 1, n - 1);
  const Outcome all = c.evaluate(whole), part = c.evaluate(first_tokens(whole, count));
  std::vector<Index> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), Index{0});
  const auto head = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", rows); };
  return laws::same(c, "o", part.values.at("o"), part.bounds().at("o"), head(all.values.at("o")),
                    head(all.bounds().at("o")), "the first tokens alone");
}

/// The first query of causal attention sees one key, and its output is that key's value.
inline Finding causal_row0(const Context& c) {
  Problem square = causal_square(c);
  for (const char* name : {"mask", "bias", "sink"}) square.inputs.erase(name);
  const Outcome outcome = c.evaluate(square);
  for (std::size_t e = 0; e < static_cast<std::size_t>(square.sizes.at("m")); ++e) {
    const double slack = outcome.bounds().at("o").values[e];
    if (!(std::abs(outcome.values.at("o").values[e] - square.inputs.at("v").values[e]) <= slack))
      return Finding::broken("o_0 is not v_0");
  }
  return {};
}

/// A scale of 0 gives the mean of the visible values.
inline Finding zero_scale_mean(const Context& c) {
  Problem flat = of_integers(c);
  flat.inputs.erase("bias");
  flat.inputs.erase("sink");
  flat.parameters["scale"] = 0.0;
  const Outcome outcome = c.evaluate(flat);
  const auto &v = flat.inputs.at("v").values, &o = outcome.values.at("o").values,
             &bound = outcome.bounds().at("o").values;
  const Index m = flat.sizes.at("m");
  for (Index i = 0; i < flat.sizes.at("n"); ++i)
    for (Index e = 0; e < m; ++e) {
      double total = 0, count = 0;
      for (Index j = 0; j < flat.sizes.at("s"); ++j)
        if (sees(flat, i, j)) total += v[static_cast<std::size_t>(j * m + e)], count += 1;
      const auto t = static_cast<std::size_t>(i * m + e);
      if (count > 0 && !(std::abs(o[t] - total / count) <= bound[t] + 0x1p-48))
        return Finding::broken("a scale of 0 does not give the mean");
    }
  return {};
}

/// Self-attention without positions is equivariant: tokens in another order give the same rows in that order.
inline Finding self_equivariance(const Context& c) {
  const Index n = std::min(c.problem.sizes.at("n"), c.problem.sizes.at("s"));
  if (n < 2) return Finding::not_applicable();
  Problem tokens = first_tokens(of_integers(c), n);
  tokens.inputs = {{"q", tokens.inputs.at("q")}, {"k", tokens.inputs.at("q")}, {"v", tokens.inputs.at("q")}};
  tokens.sizes["m"] = tokens.sizes["d"];
  for (const char* name : {"causal", "window_left", "window_right"}) tokens.parameters.erase(name);
  std::vector<Index> reversed(static_cast<std::size_t>(n));
  std::iota(reversed.rbegin(), reversed.rend(), Index{0});
  const Outcome plain = c.evaluate(tokens),
                other = c.evaluate(laws::take_rows(laws::take_rows(tokens, "n", reversed), "s", reversed));
  const auto moved = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", reversed); };
  return laws::same(c, "o", other.values.at("o"), other.bounds().at("o"), moved(plain.values.at("o")),
                    moved(plain.bounds().at("o")), "reversed tokens");
}

/// A sink is one more key that every query sees, before all others, with that logit and a value of zeros.
inline Finding sink_is_a_key(const Context& c) {
  const auto given = c.problem.inputs.find("sink");
  if (given == c.problem.inputs.end()) return Finding::not_applicable();
  Problem keys = c.problem;
  keys.inputs.erase("sink");
  for (const char* name : {"window_left", "window_right"}) keys.parameters[name] = Index{-1};
  const Index n = keys.sizes.at("n"), s = keys.sizes.at("s")++;
  for (const char* name : {"k", "v"}) {
    Array& x = keys.inputs.at(name);
    x.values.insert(x.values.begin(), static_cast<std::size_t>(x.shape[1]), 0.0);
    ++x.shape[0];
  }
  const auto biased = c.problem.inputs.find("bias");
  Array mask{{n, s + 1}, {}}, bias = mask;
  for (Index i = 0; i < n; ++i) {
    mask.values.push_back(1);
    bias.values.push_back(given->second.values[0]);
    for (Index j = 0; j < s; ++j) {
      const auto at = static_cast<std::size_t>(i * s + j);
      mask.values.push_back(sees(c.problem, i, j));
      bias.values.push_back(biased == c.problem.inputs.end() ? 0 : biased->second.values[at]);
    }
  }
  keys.inputs["mask"] = mask, keys.inputs["bias"] = bias;
  return agree(c, c.problem, keys, "a sink as a key");
}

/// A window is the mask of its keys.
inline Finding window_is_a_mask(const Context& c) {
  const auto length = [&](const char* name) { return std::get<Index>(*setting(c.problem, name)); };
  if (length("window_left") < 0 && length("window_right") < 0) return Finding::not_applicable();
  Problem masked = c.problem;
  for (const char* name : {"window_left", "window_right"}) masked.parameters[name] = Index{-1};
  const Index n = masked.sizes.at("n"), s = masked.sizes.at("s");
  Array& mask = masked.inputs["mask"] = {{n, s}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) mask.values.push_back(sees(c.problem, i, j));
  return agree(c, c.problem, masked, "a window as a mask");
}

inline std::vector<laws::Property> properties() {
  return {{"rotation", rotation},
          {"key_translation", key_translation},
          {"qk_rescale", qk_rescale},
          {"prefix", prefix},
          {"causal_row0", causal_row0},
          {"zero_scale_mean", zero_scale_mean},
          {"sink_is_a_key", sink_is_a_key},
          {"window_is_a_mask", window_is_a_mask},
          {"self_equivariance", self_equivariance}};
}

}  // namespace attest::properties::attention::scaled_dot_product
