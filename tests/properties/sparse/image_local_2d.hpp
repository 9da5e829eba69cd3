// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include "properties/sparse/image_local_1d.hpp"

namespace attest::properties::sparse::image_local_2d {

using image_local_1d::is_causal;
using laws::Context;
using laws::Finding;

inline Index number(const Problem& problem, const char* name) { return std::get<Index>(*setting(problem, name)); }

/// Block row, block column, row and column: pixels are generated in this order.
inline auto place(const Problem& problem, Index i) {
  const Index row = i / number(problem, "columns"), column = i % number(problem, "columns");
  return std::tuple(row / number(problem, "block_rows"), column / number(problem, "block_columns"), row, column);
}

inline Finding whole_image(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["block_rows"] = problem.sizes.at("n");
  problem.parameters["block_columns"] = number(problem, "columns") + laws::choose(c, 1, 2);
  return attend::equals(c, problem, attend::attention(problem, is_causal(problem)), "one block");
}

inline Finding no_extension(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["above"] = problem.parameters["beside"] = Index{0};
  return attend::equals_masked(
      c, problem,
      [&](Index i, Index j) {
        const auto [row, column, r, s] = place(problem, i);
        const auto [other_row, other_column, t, u] = place(problem, j);
        return row == other_row && column == other_column && (j <= i || !is_causal(problem));
      },
      "no extensions");
}

inline Finding causality(const Context& c) {
  if (!is_causal(c.problem)) return Finding::not_applicable();
  return attend::unseen_irrelevant(c, c.problem,
                                   [&](Index i, Index j) { return place(c.problem, j) <= place(c.problem, i); });
}

/// Columns farther away than a block and its extension.
inline Finding border_clipping(const Context& c) {
  const Index columns = number(c.problem, "columns");
  const Index reach = number(c.problem, "block_columns") + number(c.problem, "beside");
  return attend::unseen_irrelevant(c, c.problem,
                                   [&](Index i, Index j) { return std::abs(i % columns - j % columns) < reach; });
}

/// Columns in the opposite order, of an image of whole rows and blocks.
inline Finding symmetry(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["causal"] = false;
  const Index n = problem.sizes.at("n"), columns = number(problem, "columns");
  if (n % columns != 0 || columns % number(problem, "block_columns") != 0) return Finding::not_applicable();
  std::vector<Index> mirrored;
  for (Index i = 0; i < n; ++i) mirrored.push_back(i / columns * columns + columns - 1 - i % columns);
  const auto& declared = *c.problem.spec->output("o");
  const laws::Outcome plain = c.evaluate(problem), other = c.evaluate(laws::take_rows(problem, "n", mirrored));
  return laws::same(c, "o", other.values.at("o"), other.bounds().at("o"),
                    laws::take(plain.values.at("o"), declared, "n", mirrored),
                    laws::take(plain.bounds().at("o"), declared, "n", mirrored), "the mirrored image");
}

inline std::vector<laws::Property> properties() {
  return {{"whole_image", whole_image},
          {"no_extension", no_extension},
          {"causality", causality},
          {"border_clipping", border_clipping},
          {"symmetry", symmetry}};
}

}  // namespace attest::properties::sparse::image_local_2d
