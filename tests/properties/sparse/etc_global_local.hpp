// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/attend.hpp"

namespace attest::properties::sparse::etc_global_local {

using laws::Context;
using laws::Finding;

inline Index number(const Problem& problem, const char* name) { return std::get<Index>(*setting(problem, name)); }

/// One softmax, no mask, no labels.
inline Problem plain(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"mask", "labels"}) problem.inputs.erase(name);
  problem.parameters["softmax"] = std::string("joint");
  return problem;
}

inline Finding standard_limit(const Context& c) {
  Problem problem = plain(c);
  problem.parameters["radius"] = problem.sizes.at("n") + laws::choose(c, 1, 3);
  return attend::equals(c, problem, attend::attention(problem), "a radius beyond the input");
}

inline Finding no_globals(const Context& c) {
  Problem problem = plain(c);
  problem.parameters["globals"] = Index{0};
  const Index radius = number(problem, "radius");
  return attend::equals_masked(
      c, problem, [&](Index i, Index j) { return std::abs(i - j) <= radius; }, "no global tokens");
}

/// Rows of a matrix of pairs, or of tokens, in another order: token i stands where token order[i] stood.
inline Array reordered(const Array& x, const std::vector<Index>& order, bool columns) {
  Array y = x;
  const Index width = x.shape[1];
  for (Index i = 0; i < x.shape[0]; ++i)
    for (Index j = 0; j < width; ++j)
      y.values[static_cast<std::size_t>(i * width + j)] = x.values[static_cast<std::size_t>(
          order[static_cast<std::size_t>(i)] * width + (columns ? order[static_cast<std::size_t>(j)] : j))];
  return y;
}

/// The global tokens in the opposite order.
inline Finding global_permutation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), globals = number(c.problem, "globals");
  if (globals < 2) return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::reverse(order.begin(), order.begin() + globals);
  Problem other = c.problem;
  for (auto& [name, x] : other.inputs)
    if (name != "table") x = reordered(x, order, name == "mask" || name == "labels");
  const laws::Outcome plain_order = c.evaluate(c.problem), moved = c.evaluate(other);
  return laws::same(c, "o", moved.values.at("o"), moved.bounds().at("o"),
                    reordered(plain_order.values.at("o"), order, false),
                    reordered(plain_order.bounds().at("o"), order, false), "global tokens in the opposite order");
}

/// Every label has the same vector.
inline Finding zero_labels(const Context& c) {
  Problem labelled = plain(c);
  const Index n = labelled.sizes.at("n"), r = labelled.sizes.at("r"), d = labelled.sizes.at("d");
  Array labels{{n, n}, {}}, table{{r, d}, {}};
  for (Index t = 0; t < n * n; ++t) labels.values.push_back(static_cast<double>(t % r));
  for (Index t = 0; t < r * d; ++t) table.values.push_back(static_cast<double>(t % d % 3) / 4);
  labelled.inputs["labels"] = labels, labelled.inputs["table"] = table;
  const laws::Outcome without = c.evaluate(plain(c)), with = c.evaluate(labelled);
  return laws::same(c, "o", with.values.at("o"), with.bounds().at("o"), without.values.at("o"),
                    without.bounds().at("o"), "a table with equal rows");
}

inline Finding local_locality(const Context& c) {
  const Index globals = number(c.problem, "globals"), radius = number(c.problem, "radius");
  return attend::unseen_irrelevant(
      c, c.problem, [&](Index i, Index j) { return std::min(i, j) < globals || std::abs(i - j) <= radius; });
}

inline std::vector<laws::Property> properties() {
  return {{"standard_limit", standard_limit},
          {"no_globals", no_globals},
          {"global_permutation", global_permutation},
          {"zero_labels", zero_labels},
          {"local_locality", local_locality}};
}

}  // namespace attest::properties::sparse::etc_global_local
