// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "attest/judge/laws.hpp"

namespace attest::properties::infini::memory_retrieve {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// phi of small positive integers, exact; nothing for a map that is not.
inline std::optional<Array> exact_features(const std::string& map, Array x) {
  if (map == "exp") return {};
  for (double& value : x.values) value += map == "elu_plus_one" ? 1 : 0;
  return x;
}

/// A memory after linear updates: keys and queries are small positive integers, so that every sum is exact.
struct Stored {
  Problem read;
  Array phi_q, phi_k, v;
};
inline std::optional<Stored> stored(const Context& c, const std::string& values = "integers -3 3") {
  if (std::get<double>(*setting(c.problem, "eps")) != 0 || c.problem.sizes.at("n") < 1) return {};
  const Index tokens = 5, d = c.problem.sizes.at("d"), m = c.problem.sizes.at("m");
  const std::string map = std::get<std::string>(*setting(c.problem, "feature_map"));
  Stored s{c.problem, {}, {}, golden::draw_array(values, {tokens, m}, c.exact, c.seed, "property.v")};
  Array& q = s.read.inputs.at("q");
  q = golden::draw_array("integers 1 3", q.shape, c.exact, c.seed, "property.q");
  const auto phi_q = exact_features(map, q),
             phi_k =
                 exact_features(map, golden::draw_array("integers 1 3", {tokens, d}, c.exact, c.seed, "property.k"));
  if (!phi_q) return {};
  s.phi_q = *phi_q, s.phi_k = *phi_k;
  auto &memory = s.read.inputs.at("memory").values, &z = s.read.inputs.at("z").values;
  std::fill(memory.begin(), memory.end(), 0.0);
  std::fill(z.begin(), z.end(), 0.0);
  for (Index t = 0; t < tokens; ++t)
    for (Index a = 0; a < d; ++a) {
      const double phi = phi_k->values[static_cast<std::size_t>(t * d + a)];
      z[static_cast<std::size_t>(a)] += phi;
      for (Index b = 0; b < m; ++b)
        memory[static_cast<std::size_t>(a * m + b)] += phi * s.v.values[static_cast<std::size_t>(t * m + b)];
    }
  return s;
}

/// After linear updates the memory answers as linear attention over all stored tokens does.
inline Finding equals_linear_attention(const Context& c) {
  const auto s = stored(c);
  if (!s) return Finding::not_applicable();
  const auto& sizes = s->read.sizes;
  Problem attention{&find_spec("linear.attention"),
                    {{"n", sizes.at("n")}, {"s", s->v.shape[0]}, {"c", sizes.at("d")}, {"m", sizes.at("m")}},
                    {},
                    {{"phi_q", s->phi_q}, {"phi_k", s->phi_k}, {"v", s->v}}};
  const auto expected = golden::enclose(attention, "quadratic", 128);
  const Outcome outcome = c.evaluate(s->read);
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), expected.middle.at("o"),
                    expected.radius.at("o"), "linear attention over what was stored");
}

/// After linear updates no answer leaves the range of the stored values.
inline Finding convex_hull(const Context& c) {
  const auto s = stored(c);
  if (!s) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(s->read);
  const auto &a = outcome.values.at("a").values, &bound = outcome.bounds().at("a").values, &v = s->v.values;
  const auto m = static_cast<std::size_t>(s->read.sizes.at("m"));
  for (std::size_t i = 0; i < a.size(); ++i) {
    double low = v[i % m], high = low;
    for (std::size_t j = i % m; j < v.size(); j += m) low = std::min(low, v[j]), high = std::max(high, v[j]);
    if (!(low - bound[i] <= a[i] && a[i] <= high + bound[i]))
      return Finding::broken("a[" + std::to_string(i) + "] lies outside the stored values");
  }
  return {};
}

/// After linear updates with one value that value is the answer.
inline Finding constant_value(const Context& c) {
  const auto s = stored(c, "constant 3");
  if (!s) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(s->read);
  const Array& a = outcome.values.at("a");
  return laws::same(c, "a", a, outcome.bounds().at("a"), Array{a.shape, std::vector<double>(a.values.size(), 3.0)},
                    Array{a.shape, std::vector<double>(a.values.size())}, "one value stored");
}

/// An empty memory answers by the convention, 0 unless NaN is asked for.
inline Finding empty_memory(const Context& c) {
  Problem empty = c.problem;
  for (const char* state : {"memory", "z"})
    std::fill(empty.inputs.at(state).values.begin(), empty.inputs.at(state).values.end(), 0.0);
  if (std::get<double>(*setting(empty, "eps")) != 0 ||
      std::get<std::string>(*setting(empty, "zero_denominator")) == "nan")
    return Finding::not_applicable();
  const Outcome outcome = c.evaluate(empty);
  for (const double x : outcome.values.at("a").values)
    if (x != 0) return Finding::broken("an empty memory answers " + std::to_string(x));
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"equals_linear_attention", equals_linear_attention},
          {"convex_hull", convex_hull},
          {"constant_value", constant_value},
          {"empty_memory", empty_memory}};
}

}  // namespace attest::properties::infini::memory_retrieve
