// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attest/judge/laws.hpp"
#include "properties/sparse/attend.hpp"

namespace attest::properties::content::lsh_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;
namespace sets = sparse::attend;

inline Finding agree(const Context& c, const Outcome& a, const Outcome& b, const std::string& what) {
  return laws::same(c, "o", a.values.at("o"), a.bounds().at("o"), b.values.at("o"), b.bounds().at("o"), what);
}

/// Whole buckets, seen whatever their order and including the query.
inline Problem whole(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["chunk"] = Index{0};
  problem.parameters["causal"] = false;
  problem.parameters["exclude_self"] = false;
  return problem;
}

/// Equal hashes: what other hashes that are equal give, and a constant value where all keys are alike.
inline Finding one_bucket(const Context& c) {
  Problem problem = whole(c);
  auto& hashes = problem.inputs.at("hashes").values;
  std::fill(hashes.begin(), hashes.end(), 1.0);
  const Index n = problem.sizes.at("n"), d = problem.sizes.at("d");
  auto& q = problem.inputs.at("q").values;  // keys along an axis are exact
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < d; ++a) q[static_cast<std::size_t>(i * d + a)] = a == i % d ? (i / d % 2 == 0 ? 2 : -0.5) : 0;
  Problem plain{&find_spec("attention.scaled_dot_product"), {}, {}, {}};
  plain.sizes = {{"n", n}, {"s", n}, {"d", d}, {"m", problem.sizes.at("m")}};
  plain.inputs["q"] = problem.inputs.at("q");
  plain.inputs["v"] = problem.inputs.at("v");
  Array keys = problem.inputs.at("q");
  for (double& k : keys.values) k = k == 0 ? 0 : std::copysign(1.0, k);
  plain.inputs["k"] = keys;
  plain.parameters["scale"] = *setting(problem, "scale");
  return sets::equals(c, problem, golden::enclose(plain, "max_shift", 128), "equal hashes");
}

/// A chunk as long as the sequence, and none.
inline Finding long_chunks(const Context& c) {
  Problem none = c.problem, all = c.problem;
  none.parameters["chunk"] = Index{0};
  all.parameters["chunk"] = c.problem.sizes.at("n");
  return agree(c, c.evaluate(all), c.evaluate(none), "a chunk as long as the sequence");
}

/// Whether some round has both tokens in one bucket.
inline bool together(const Problem& problem, Index i, Index j) {
  const auto& hashes = problem.inputs.at("hashes").values;
  const Index n = problem.sizes.at("n"), rounds = problem.sizes.at("r");
  for (Index r = 0; r < rounds; ++r)
    if (hashes[static_cast<std::size_t>(r * n + i)] == hashes[static_cast<std::size_t>(r * n + j)]) return true;
  return false;
}

/// Tokens for which irrelevant(row, j) are drawn anew: row `row` keeps its bits.
template <class F>
Finding unchanged(const Context& c, F&& irrelevant, const std::string& what) {
  const Index n = c.problem.sizes.at("n"), row = laws::choose(c, 1, n);
  Problem changed = c.problem;
  bool any = false;
  for (const char* name : {"q", "v"}) {
    auto& x = changed.inputs.at(name);
    const Array fresh = laws::redrawn(c, name, 2);
    const Index width = x.shape[1];
    for (Index j = 0; j < n; ++j) {
      if (!irrelevant(row, j)) continue;
      any = true;
      std::copy_n(fresh.values.begin() + j * width, width, x.values.begin() + j * width);
    }
  }
  if (!any) return Finding::not_applicable();
  return sets::same_row(c, row, c.evaluate(c.problem), c.evaluate(changed), what);
}

inline Finding bucket_isolation(const Context& c) {
  return unchanged(c, [&](Index i, Index j) { return !together(c.problem, i, j); }, "tokens of other buckets");
}

inline Finding causality(const Context& c) {
  if (!std::get<bool>(*setting(c.problem, "causal"))) return Finding::not_applicable();
  return unchanged(c, [](Index i, Index j) { return j > i; }, "later tokens");
}

/// The first two coordinates (a, b) of each query become (-b, a).
inline Finding quarter_turn(const Context& c) {
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  if (d < 2) return Finding::not_applicable();
  Problem turned = c.problem;
  auto& q = turned.inputs.at("q").values;
  for (std::size_t i = 0; i < q.size(); i += d) std::swap(q[i], q[i + 1]), q[i] = -q[i];
  return agree(c, c.evaluate(turned), c.evaluate(c.problem), "queries turned by a right angle");
}

/// One query of twice the length: the rows of the others stay.
inline Finding key_norm_free(const Context& c) {
  const Index n = c.problem.sizes.at("n"), d = c.problem.sizes.at("d");
  if (n < 2) return Finding::not_applicable();
  const Index longer = laws::choose(c, 1, n), row = (longer + 1) % n;
  Problem changed = c.problem;
  auto& q = changed.inputs.at("q").values;
  for (Index a = 0; a < d; ++a) q[static_cast<std::size_t>(longer * d + a)] *= 2;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  const auto only = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", {row}); };
  return laws::same(c, "o", only(other.values.at("o")), only(other.bounds().at("o")), only(plain.values.at("o")),
                    only(plain.bounds().at("o")), "a query of twice the length");
}

/// Of equal hashes and a value of 1 for one token alone, outputs are its weights: none exceeds that of the own key.
inline Finding self_dominates(const Context& c) {
  const Index n = c.problem.sizes.at("n"), m = c.problem.sizes.at("m");
  Problem problem = whole(c);
  problem.parameters["scale"] = 1.0;
  const Index row = laws::choose(c, 1, n), other = laws::choose(c, 2, n);
  auto& hashes = problem.inputs.at("hashes").values;
  std::fill(hashes.begin(), hashes.end(), 0.0);
  const auto weight = [&](Index token) {
    auto& v = problem.inputs.at("v").values;
    std::fill(v.begin(), v.end(), 0.0);
    v[static_cast<std::size_t>(token * m)] = 1;
    const Outcome outcome = c.evaluate(problem);
    const auto at = static_cast<std::size_t>(row * m);
    return std::pair(outcome.values.at("o").values[at], outcome.bounds().at("o").values[at]);
  };
  const auto [own, own_bound] = weight(row);
  const auto [of_other, other_bound] = weight(other);
  if (of_other - own > own_bound + other_bound)
    return Finding::broken("the weight of key " + std::to_string(other) + " exceeds that of the query's own key");
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"one_bucket", one_bucket},        {"long_chunks", long_chunks},   {"bucket_isolation", bucket_isolation},
          {"causality", causality},          {"quarter_turn", quarter_turn}, {"key_norm_free", key_norm_free},
          {"self_dominates", self_dominates}};
}

}  // namespace attest::properties::content::lsh_attention
