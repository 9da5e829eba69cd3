// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::alibi {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool symmetric(const Problem& problem) { return std::get<bool>(*setting(problem, "symmetric")); }

/// Position of query 0.
inline Index first_query(const Problem& problem) {
  return problem.sizes.at("s") - problem.sizes.at("n") + std::get<Index>(*setting(problem, "query_offset"));
}

inline Array zeros(std::vector<Index> shape) {
  const Index size = count(shape);
  return {std::move(shape), std::vector<double>(static_cast<std::size_t>(size))};
}

/// The problem with products of 0 and the identity as values, so that the output is the weights.
inline Problem probe(const Problem& problem, Index heads, Index n, Index s) {
  Problem bare = problem;
  bare.sizes.at("heads") = heads, bare.sizes.at("n") = n, bare.sizes.at("s") = bare.sizes.at("m") = s;
  const Index d = bare.sizes.at("d");
  bare.inputs["q"] = zeros({heads, n, d});
  bare.inputs["k"] = zeros({heads, s, d});
  bare.inputs["v"] = zeros({heads, s, s});
  for (Index h = 0; h < heads; ++h)
    for (Index j = 0; j < s; ++j) bare.inputs["v"].values[static_cast<std::size_t>((h * s + j) * s + j)] = 1;
  return bare;
}

/// The weights of a probe are e^(-slope(h) distance), normalised.
template <class F>
Finding weights_fall(const Context& c, const Problem& bare, F&& slope) {
  const Index heads = bare.sizes.at("heads"), n = bare.sizes.at("n"), s = bare.sizes.at("s");
  Array expected = zeros({heads, n, s}), allowed = expected;
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < n; ++i) {
      const Index p = first_query(bare) + i, nearest = std::max<Index>({p - (s - 1), -p, 0});
      const auto weight = [&](Index j) {
        return j > p && !symmetric(bare) ? 0.0 : std::exp(-slope(h) * static_cast<double>(std::abs(p - j) - nearest));
      };
      double sum = 0;
      for (Index j = 0; j < s; ++j) sum += weight(j);
      for (Index j = 0; j < s; ++j) {
        const auto at = static_cast<std::size_t>((h * n + i) * s + j);
        expected.values[at] = weight(j) / sum;
        allowed.values[at] = 0x1p-44 * expected.values[at];
      }
    }
  const Outcome outcome = c.evaluate(bare);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, allowed,
                    "weights that fall with the distance");
}

/// Equal products: weights proportional to e^(-a distance), whatever the position.
inline Finding recency(const Context& c) {
  if (!c.problem.inputs.count("slopes")) return Finding::not_applicable();
  const auto& slopes = c.problem.inputs.at("slopes").values;
  const auto& sizes = c.problem.sizes;
  return weights_fall(c, probe(c.problem, sizes.at("heads"), sizes.at("n"), sizes.at("s")),
                      [&](Index h) { return slopes[static_cast<std::size_t>(h)]; });
}

/// The slopes of `heads` heads, a power of two, are the powers of 2^(-8/heads).
inline Finding slopes_of(const Context& c, Index heads) {
  Problem bare = probe(c.problem, heads, 1, 3);
  bare.inputs.erase("slopes");
  return weights_fall(
      c, bare, [&](Index h) { return std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)); });
}

inline Finding slopes_of_eight_heads(const Context& c) { return slopes_of(c, 8); }

inline Finding slopes_of_powers_of_two(const Context& c) { return slopes_of(c, Index{1} << laws::choose(c, 1, 5)); }

/// Slopes of 0 are attention.scaled_dot_product, head by head.
inline Finding zero_slopes_are_plain_attention(const Context& c) {
  const auto& sizes = c.problem.sizes;
  if (!symmetric(c.problem) && std::get<Index>(*setting(c.problem, "query_offset")) != 0)
    return Finding::not_applicable();
  Problem flat = c.problem;
  const Index heads = sizes.at("heads");
  flat.inputs["slopes"] = zeros({heads});
  Array expected{{heads, sizes.at("n"), sizes.at("m")}, {}}, radius = expected;
  for (Index h = 0; h < heads; ++h) {
    Problem head{&find_spec("attention.scaled_dot_product"),
                 {{"n", sizes.at("n")}, {"s", sizes.at("s")}, {"d", sizes.at("d")}, {"m", sizes.at("m")}},
                 {{"causal", !symmetric(flat)}},
                 {}};
    if (const auto scale = setting(flat, "scale")) head.parameters["scale"] = *scale;
    for (const char* name : {"q", "k", "v"}) {
      const Array& all = flat.inputs.at(name);
      const auto size = all.size() / heads;
      head.inputs[name] = {{all.shape[1], all.shape[2]},
                           {all.values.begin() + h * size, all.values.begin() + (h + 1) * size}};
    }
    const auto plain = golden::enclose(head, "max_shift", 128);
    for (const double x : plain.middle.at("o").values) expected.values.push_back(x);
    for (const double x : plain.radius.at("o").values) radius.values.push_back(x);
  }
  const Outcome outcome = c.evaluate(flat);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, radius, "slopes of 0");
}

/// Behind all keys, queries may move on: every distance of a row grows by one number.
inline Finding moving_the_queries(const Context& c) {
  Problem near = c.problem, far = c.problem;
  const Index n = c.problem.sizes.at("n"), by = 1 + laws::choose(c, 1, 64);
  near.parameters["query_offset"] = n;
  far.parameters["query_offset"] = n + by;
  const Outcome here = c.evaluate(near), there = c.evaluate(far);
  return laws::same(c, "o", here.values.at("o"), here.bounds().at("o"), there.values.at("o"), there.bounds().at("o"),
                    "queries moved by " + std::to_string(by));
}

/// Keys and values after a query leave it and the queries before it as they are.
inline Finding later_keys_change_nothing(const Context& c) {
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s");
  const Index rows = 1 + laws::choose(c, 1, n),
              first = first_query(c.problem) + rows;  // the key after what these rows see
  if (symmetric(c.problem) || first >= s) return Finding::not_applicable();
  Problem changed = c.problem;
  for (const char* name : {"k", "v"}) {
    auto& array = changed.inputs.at(name);
    const Array fresh = laws::redrawn(c, name, 2);
    for (Index t = 0; t < array.size(); ++t)
      if (t / array.shape[2] % s >= first)
        array.values[static_cast<std::size_t>(t)] = fresh.values[static_cast<std::size_t>(t)];
  }
  std::vector<Index> order;
  for (Index i = 0; i < rows; ++i) order.push_back(i);
  const auto before = [&](const Outcome& outcome) {
    Outcome kept;
    const auto& declared = c.problem.spec->outputs[0];
    kept.values["o"] = laws::take(outcome.values.at("o"), declared, "n", order);
    kept.bounds = [&outcome, &declared, order, bounds = Arrays()]() mutable -> const Arrays& {
      bounds["o"] = laws::take(outcome.bounds().at("o"), declared, "n", order);
      return bounds;
    };
    return kept;
  };
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  return laws::identical(c, "o", before(plain), before(other), "changing keys from " + std::to_string(first) + " on");
}

inline std::vector<laws::Property> properties() {
  return {{"recency", recency},
          {"slopes_of_eight_heads", slopes_of_eight_heads},
          {"slopes_of_powers_of_two", slopes_of_powers_of_two},
          {"zero_slopes_are_plain_attention", zero_slopes_are_plain_attention},
          {"moving_the_queries", moving_the_queries},
          {"later_keys_change_nothing", later_keys_change_nothing}};
}

}  // namespace attest::properties::positional::alibi
