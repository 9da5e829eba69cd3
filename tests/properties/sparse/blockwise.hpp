// SPDX-License-Identifier: MIT
#pragma once

#include "properties/sparse/attend.hpp"

namespace attest::properties::sparse::blockwise {

using laws::Context;
using laws::Finding;

/// The problem with that permutation.
inline Problem with(const Context& c, const std::vector<double>& permutation) {
  Problem problem = c.problem;
  const auto p = static_cast<Index>(permutation.size());
  problem.sizes["p"] = p;
  problem.inputs["permutation"] = {{p}, permutation};
  return problem;
}

inline Finding one_block(const Context& c) {
  const Problem problem = with(c, {0});
  return attend::equals(c, problem, attend::attention(problem), "one block");
}

inline Index block(const Problem& problem, Index i) { return i * problem.sizes.at("p") / problem.sizes.at("n"); }

inline Finding identity_permutation(const Context& c) {
  std::vector<double> identity(static_cast<std::size_t>(c.problem.sizes.at("p")));
  std::iota(identity.begin(), identity.end(), 0.0);
  const Problem problem = with(c, identity);
  return attend::equals_masked(
      c, problem, [&](Index i, Index j) { return block(problem, i) == block(problem, j); }, "the identity");
}

inline Finding block_isolation(const Context& c) {
  const auto& pi = c.problem.inputs.at("permutation").values;
  return attend::unseen_irrelevant(c, c.problem, [&](Index i, Index j) {
    return static_cast<Index>(pi[static_cast<std::size_t>(block(c.problem, i))]) == block(c.problem, j);
  });
}

/// Key block e becomes block p - 1 - e, and the permutation follows.
inline Finding permutation_conjugation(const Context& c) {
  const Index n = c.problem.sizes.at("n"), p = c.problem.sizes.at("p"), length = n / p;
  if (n % p != 0 || p < 2) return Finding::not_applicable();
  Problem other = c.problem;
  for (double& e : other.inputs.at("permutation").values) e = static_cast<double>(p - 1) - e;
  std::vector<Index> order;
  for (Index j = 0; j < n; ++j) order.push_back((p - 1 - j / length) * length + j % length);
  for (const char* name : {"k", "v"})
    other.inputs.at(name) = laws::take(c.problem.inputs.at(name), *c.problem.spec->input(name), "n", order);
  const laws::Outcome plain = c.evaluate(c.problem), moved = c.evaluate(other);
  return laws::same(c, "o", moved.values.at("o"), moved.bounds().at("o"), plain.values.at("o"), plain.bounds().at("o"),
                    "key blocks in another order");
}

inline std::vector<laws::Property> properties() {
  return {{"one_block", one_block},
          {"identity_permutation", identity_permutation},
          {"block_isolation", block_isolation},
          {"permutation_conjugation", permutation_conjugation}};
}

}  // namespace attest::properties::sparse::blockwise
