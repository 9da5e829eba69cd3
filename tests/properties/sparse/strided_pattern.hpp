// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "properties/sparse/attend.hpp"

namespace attest::properties::sparse::strided_pattern {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Problem with_part(const Context& c, const char* part) {
  Problem problem = c.problem;
  problem.parameters["part"] = std::string(part);
  return problem;
}

/// Every key before a query's own is one of A2.
inline Finding stride_one(const Context& c) {
  Problem problem = with_part(c, "second");
  problem.parameters["stride"] = Index{1};
  return attend::equals(c, problem, attend::attention(problem, true), "A2 of stride 1");
}

/// The tokens from `first` on alone: the same rows from `reach` tokens later on.
inline Finding later_tokens(const Context& c, const Problem& all, Index first, Index reach) {
  const Index n = c.problem.sizes.at("n");
  if (first < 1 || first + reach >= n) return Finding::not_applicable();
  std::vector<Index> tokens(static_cast<std::size_t>(n - first)), rows(static_cast<std::size_t>(n - first - reach));
  std::iota(tokens.begin(), tokens.end(), first);
  std::iota(rows.begin(), rows.end(), Index{0});
  const auto from = [&](const Array& o, Index row) {
    auto order = rows;
    for (Index& r : order) r += row;
    return laws::take(o, *c.problem.spec->output("o"), "n", order);
  };
  const Outcome plain = c.evaluate(all), later = c.evaluate(laws::take_rows(all, "n", tokens));
  return laws::same(c, "o", from(plain.values.at("o"), first + reach), from(plain.bounds().at("o"), first + reach),
                    from(later.values.at("o"), reach), from(later.bounds().at("o"), reach),
                    "tokens before the sequence");
}

inline Finding translation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), reach = std::get<Index>(*setting(c.problem, "stride"));
  if (n <= reach + 1) return Finding::not_applicable();
  return later_tokens(c, with_part(c, "first"), 1 + laws::choose(c, 1, n - reach - 1), reach);
}

inline std::vector<laws::Property> properties() { return {{"stride_one", stride_one}, {"translation", translation}}; }

}  // namespace attest::properties::sparse::strided_pattern
