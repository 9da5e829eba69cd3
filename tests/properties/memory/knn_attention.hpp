// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::knn_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// sigma(b), and enclosures of softmax attention of the queries over some keys.
inline golden::Enclosure attention(const Problem& problem, const Array& keys, const Array& values, bool causal) {
  Problem sdp{&find_spec("attention.scaled_dot_product"), {}, {{"causal", causal}}, {}};
  sdp.sizes = {
      {"n", problem.sizes.at("n")}, {"s", keys.shape[0]}, {"d", problem.sizes.at("d")}, {"m", problem.sizes.at("m")}};
  sdp.inputs = {{"q", problem.inputs.at("q")}, {"k", keys}, {"v", values}};
  if (const auto scale = setting(problem, "scale")) sdp.parameters["scale"] = *scale;
  return golden::enclose(sdp, "dense", 128);
}

/// With k >= n nothing is left out: the retrieved part is full attention over the memory.
inline Finding top_of_everything_is_attention(const Context& c) {
  Problem all = c.problem;
  if (all.sizes.at("r") == 0 || std::get<std::string>(*setting(all, "normalise")) != "none")
    return Finding::not_applicable();
  all.parameters["top"] = all.sizes.at("r") + laws::choose(c, 1, 3);
  const Outcome outcome = c.evaluate(all);
  const auto &k = all.inputs.at("k"), &v = all.inputs.at("v"), &memory_k = all.inputs.at("memory_k"),
             &memory_v = all.inputs.at("memory_v");
  const auto local = attention(all, k, v, true), full = attention(all, memory_k, memory_v, false);
  const double g = 1 / (1 + std::exp(-all.inputs.at("gate_bias").values[0]));
  Array expected = local.middle.at("o"), bound = expected;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double a = full.middle.at("o").values[i], b = local.middle.at("o").values[i];
    expected.values[i] = g * a + (1 - g) * b;
    bound.values[i] =
        full.radius.at("o").values[i] + local.radius.at("o").values[i] + 0x1p-48 * (std::abs(a) + std::abs(b));
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, bound, "top >= r");
}

/// A closed gate leaves local attention.
inline Finding closed_gate_is_local(const Context& c) {
  Problem closed = c.problem;
  closed.inputs.at("gate_bias").values[0] = -256;
  const Outcome outcome = c.evaluate(closed);
  if (std::get<std::string>(*setting(closed, "normalise")) != "none") return Finding::not_applicable();
  const auto local = attention(closed, closed.inputs.at("k"), closed.inputs.at("v"), true);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), local.middle.at("o"),
                    local.radius.at("o"), "gate bias -256");
}

/// q_i . memory_k_j, of directions where the equation compares those.
inline double score(const Problem& problem, Index i, Index j) {
  const Array &q = problem.inputs.at("q"), &k = problem.inputs.at("memory_k");
  const Index d = q.shape[1];
  double product = 0, q_q = 0, k_k = 0;
  for (Index a = 0; a < d; ++a) {
    const double x = q.values[static_cast<std::size_t>(i * d + a)], y = k.values[static_cast<std::size_t>(j * d + a)];
    product += x * y, q_q += x * x, k_k += y * y;
  }
  return std::get<std::string>(*setting(problem, "normalise")) == "none" ? product : product / std::sqrt(q_q * k_k);
}

/// Whether every query has a gap at the edge of what it retrieves that no kernel's error closes.
inline bool decided(const Problem& problem) {
  const Index r = problem.sizes.at("r"), top = std::get<Index>(*setting(problem, "top"));
  for (Index i = 0; top < r && i < problem.sizes.at("n"); ++i) {
    std::vector<double> scores;
    for (Index j = 0; j < r; ++j) scores.push_back(score(problem, i, j));
    std::sort(scores.begin(), scores.end(), std::greater<>());
    const auto edge = static_cast<std::size_t>(top);
    const double size = std::max(std::abs(scores.front()), std::abs(scores.back()));
    if (!(scores[edge - 1] - scores[edge] > size / 32)) return false;
  }
  return true;
}

/// The memories in the opposite order.
inline Finding memory_permutation(const Context& c) {
  std::vector<Index> order(static_cast<std::size_t>(c.problem.sizes.at("r")));
  if (order.size() < 2 || !decided(c.problem)) return Finding::not_applicable();
  std::iota(order.rbegin(), order.rend(), Index{0});
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(laws::take_rows(c.problem, "r", order));
  return laws::same(c, "o", plain.values.at("o"), plain.bounds().at("o"), other.values.at("o"), other.bounds().at("o"),
                    "memories in the opposite order");
}

/// The last c rows of [memory; sequence].
inline Finding fifo_capacity(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  for (const auto& [memory, sequence] : {std::pair("memory_k", "k"), std::pair("memory_v", "v")}) {
    if (!outcome.values.count(memory)) continue;
    const Array& sequence_rows = c.problem.inputs.at(sequence);
    Array expected = outcome.values.at(memory), none = expected;
    std::vector<double> all = c.problem.inputs.at(memory).values;
    all.insert(all.end(), sequence_rows.values.begin(), sequence_rows.values.end());
    std::copy(all.end() - expected.size(), all.end(), expected.values.begin());
    std::fill(none.values.begin(), none.values.end(), 0.0);
    const auto finding = laws::same(c, memory, outcome.values.at(memory), outcome.bounds().at(memory), expected, none,
                                    "the last rows of memory and sequence");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// One query, and the memory with the smallest score: with a key against the query and any value it is as if it were
/// not there.
inline Finding unretrieved_irrelevant(const Context& c) {
  Problem one = laws::take_rows(c.problem, "n", {0});
  const Index r = one.sizes.at("r"), d = one.sizes.at("d"), m = one.sizes.at("m");
  if (std::get<Index>(*setting(one, "top")) >= r) return Finding::not_applicable();
  one.sizes["c"] = 0;
  Index least = 0, next = -1;
  for (Index j = 1; j < r; ++j)
    if (score(one, 0, j) < score(one, 0, least)) least = j;
  for (Index j = 0; j < r; ++j)
    if (j != least && (next < 0 || score(one, 0, j) < score(one, 0, next))) next = j;
  Problem lower = one;
  for (Index a = 0; a < d; ++a)
    lower.inputs.at("memory_k").values[static_cast<std::size_t>(least * d + a)] =
        one.inputs.at("q").values[static_cast<std::size_t>(a)] > 0 ? -64 : 64;
  for (Index e = 0; e < m; ++e) lower.inputs.at("memory_v").values[static_cast<std::size_t>(least * m + e)] = 256;
  const double gap = score(one, 0, next) - score(one, 0, least);
  if (!(gap > 0.125) || !(score(lower, 0, least) <= score(one, 0, least))) return Finding::not_applicable();
  const Outcome plain = c.evaluate(one), other = c.evaluate(lower);
  return laws::same(c, "o", plain.values.at("o"), plain.bounds().at("o"), other.values.at("o"), other.bounds().at("o"),
                    "another memory in place of one that is not retrieved");
}

/// Memory keys of other lengths.
inline Finding key_norm_free(const Context& c) {
  if (std::get<std::string>(*setting(c.problem, "normalise")) != "queries_keys") return Finding::not_applicable();
  Problem longer = c.problem;
  Array& k = longer.inputs.at("memory_k");
  for (Index i = 0; i < k.size(); ++i)
    k.values[static_cast<std::size_t>(i)] *= i / k.shape[1] % 2 == 0 ? 4 : 0.5;  // exact in every format
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(longer);
  return laws::same(c, "o", plain.values.at("o"), plain.bounds().at("o"), other.values.at("o"), other.bounds().at("o"),
                    "memory keys of other lengths");
}

inline std::vector<laws::Property> properties() {
  return {{"top_of_everything_is_attention", top_of_everything_is_attention},
          {"closed_gate_is_local", closed_gate_is_local},
          {"memory_permutation", memory_permutation},
          {"fifo_capacity", fifo_capacity},
          {"unretrieved_irrelevant", unretrieved_irrelevant},
          {"key_norm_free", key_norm_free}};
}

}  // namespace attest::properties::memory::knn_attention
