// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attest/judge/laws.hpp"
#include "properties/sparse/attend.hpp"

namespace attest::properties::content::routing_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;
namespace sets = sparse::attend;

inline bool is(const Problem& problem, const char* parameter, const char* choice) {
  return std::get<std::string>(*setting(problem, parameter)) == choice;
}

inline bool is_causal(const Problem& problem) { return std::get<bool>(*setting(problem, "causal")); }

inline const char* keys(const Problem& problem) { return problem.inputs.count("k") ? "k" : "q"; }

/// Which tokens are in which clusters, and whether every choice has a gap that no kernel's error closes.
struct Clusters {
  bool clear = true;
  std::vector<std::vector<bool>> of;  // of[c][i]

  Clusters(const Problem& problem, const char* tokens) {
    const Index n = problem.sizes.at("n"), count = problem.sizes.at("c"), d = problem.sizes.at("d");
    const auto &x = problem.inputs.at(tokens).values, &mu = problem.inputs.at("mu").values;
    const bool norm = is(problem, "normalise", "layer_norm"), unit = is(problem, "normalise", "unit");
    const double eps = std::get<double>(*setting(problem, "eps"));
    std::vector<std::vector<double>> scores(static_cast<std::size_t>(count));
    double largest = 0;
    for (Index i = 0; i < n; ++i) {
      const auto row = x.begin() + i * d;
      const double mean = norm ? std::accumulate(row, row + d, 0.0) / static_cast<double>(d) : 0;
      double variance = 0;
      for (auto a = row; a != row + d; ++a) variance += (*a - mean) * (*a - mean) / static_cast<double>(d);
      const double length = std::sqrt(variance * static_cast<double>(d));
      const double root = norm ? std::sqrt(variance + eps) : unit && length > 0 ? length : 1;
      for (Index c = 0; c < count; ++c) {
        double score = 0, size = 0;
        for (Index a = 0; a < d; ++a) {
          const double term = (row[a] - mean) / root * mu[static_cast<std::size_t>(c * d + a)];
          score += term, size += std::abs(term);
        }
        scores[static_cast<std::size_t>(c)].push_back(score);
        largest = std::max(largest, size);
      }
    }
    of.assign(scores.size(), std::vector<bool>(static_cast<std::size_t>(n)));
    const Index width = std::get<Index>(*setting(problem, "width"));
    if (is(problem, "assign", "balanced"))
      for (std::size_t c = 0; c < scores.size(); ++c)
        for (const auto i : best(scores[c], width > 0 ? width : (n + count - 1) / count, largest)) of[c][i] = true;
    else
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        std::vector<double> own;
        for (const auto& score : scores) own.push_back(score[i]);
        of[best(own, 1, largest)[0]][i] = true;
      }
  }

private:
  std::vector<std::size_t> best(const std::vector<double>& scores, Index width, double size) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    const auto edge = static_cast<std::size_t>(width);
    if (edge >= order.size()) return order;
    clear = clear && scores[order[edge - 1]] - scores[order[edge]] > size / 32;
    order.resize(edge);
    return order;
  }
};

/// A single centroid that takes all tokens.
inline Finding one_cluster(const Context& c) {
  Problem one = laws::take_rows(c.problem, "c", {0});
  one.parameters["width"] = Index{0};
  Problem plain = one;
  plain.inputs["k"] = one.inputs.at(keys(one));
  return sets::equals(c, one, sets::attention(plain, is_causal(one)), "one cluster");
}

/// Tokens in the opposite order, where no gap is so small that their order decides.
inline Finding token_order(const Context& c) {
  if (is_causal(c.problem) || !Clusters(c.problem, "q").clear || !Clusters(c.problem, keys(c.problem)).clear)
    return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(c.problem.sizes.at("n")));
  std::iota(order.rbegin(), order.rend(), Index{0});
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(laws::take_rows(c.problem, "n", order));
  const auto back = [&](const Array& o) { return laws::take(o, *c.problem.spec->output("o"), "n", order); };
  return laws::same(c, "o", back(other.values.at("o")), back(other.bounds().at("o")), plain.values.at("o"),
                    plain.bounds().at("o"), "tokens in the opposite order");
}

/// Row `row` keeps its bits where tokens change that do not concern it: values of keys that irrelevant(j), and their
/// keys if those stay in their clusters.
template <class F>
Finding unchanged(const Context& c, Index row, bool longer, F&& irrelevant, const std::string& what) {
  Problem changed = c.problem;
  const Array fresh = laws::redrawn(c, "v", 2);
  auto& v = changed.inputs.at("v").values;
  const Index n = c.problem.sizes.at("n"), m = c.problem.sizes.at("m"), d = c.problem.sizes.at("d");
  bool any = false;
  for (Index j = 0; j < n; ++j) {
    if (!irrelevant(j)) continue;
    any = true;
    std::copy_n(fresh.values.begin() + j * m, m, v.begin() + j * m);
    auto& k = changed.inputs.at(keys(changed)).values;
    for (Index a = 0; longer && a < d; ++a) k[static_cast<std::size_t>(j * d + a)] *= 2;
  }
  if (!any) return Finding::not_applicable();
  return sets::same_row(c, row, c.evaluate(c.problem), c.evaluate(changed), what);
}

/// Other values, and under argmax keys of twice the length, in clusters that a query is not in.
inline Finding cluster_isolation(const Context& c) {
  const Clusters queries(c.problem, "q"), of_keys(c.problem, keys(c.problem));
  if (!queries.clear || !of_keys.clear) return Finding::not_applicable();
  const Index row = laws::choose(c, 1, c.problem.sizes.at("n"));
  const auto apart = [&](Index j) {
    for (std::size_t cluster = 0; cluster < queries.of.size(); ++cluster)
      if (queries.of[cluster][static_cast<std::size_t>(row)] && of_keys.of[cluster][static_cast<std::size_t>(j)])
        return false;
    return j != row || keys(c.problem) == std::string("k");
  };
  return unchanged(c, row, is(c.problem, "assign", "argmax"), apart, "tokens of other clusters");
}

/// Values of later tokens: they take no part in the choice.
inline Finding later_values(const Context& c) {
  if (!is_causal(c.problem)) return Finding::not_applicable();
  const Index row = laws::choose(c, 1, c.problem.sizes.at("n"));
  return unchanged(c, row, false, [row](Index j) { return j > row; }, "later values");
}

/// The first two features (a, b) of queries, keys and centroids become (-b, a).
inline Finding quarter_turn(const Context& c) {
  const auto d = static_cast<std::size_t>(c.problem.sizes.at("d"));
  if (d < 2) return Finding::not_applicable();
  Problem plain = c.problem;
  plain.parameters["normalise"] = std::string("none");
  if (!Clusters(plain, "q").clear || !Clusters(plain, keys(plain)).clear) return Finding::not_applicable();
  Problem turned = plain;
  for (const char* name : {"q", "k", "mu"})
    if (const auto input = turned.inputs.find(name); input != turned.inputs.end()) {
      auto& x = input->second.values;
      for (std::size_t i = 0; i < x.size(); i += d) std::swap(x[i], x[i + 1]), x[i] = -x[i];
    }
  return laws::agree(c, "o", turned, plain, "tokens and centroids turned by a right angle");
}

/// Weights of each query: the outputs of as many values as there are tokens, 1 at their own token. A scale of 0 makes
/// weights of one over the number of keys that are seen.
inline Outcome weights(const Context& c, const Problem& from) {
  Problem problem = from;
  const Index n = problem.sizes.at("n");
  problem.sizes["m"] = n;
  Array v{{n, n}, std::vector<double>(static_cast<std::size_t>(n * n))};
  for (Index j = 0; j < n; ++j) v.values[static_cast<std::size_t>(j * (n + 1))] = 1;
  problem.inputs["v"] = v;
  problem.parameters["scale"] = 0.0;
  return c.evaluate(problem);
}

/// Whether weight (i, j) is not 0.
inline bool sees(const Outcome& weights, Index n, Index i, Index j) {
  return weights.values.at("o").values[static_cast<std::size_t>(i * n + j)] > 0.5 / static_cast<double>(n);
}

/// Without k every query that is in a cluster sees its own key.
inline Finding own_key(const Context& c) {
  Problem shared = c.problem;
  shared.inputs.erase("k");
  const Clusters clusters(shared, "q");
  if (is(shared, "assign", "balanced") && !clusters.clear) return Finding::not_applicable();
  const Outcome all = weights(c, shared);
  const Index n = shared.sizes.at("n");
  for (Index i = 0; i < n; ++i) {
    const bool taken = std::any_of(clusters.of.begin(), clusters.of.end(), [i](const std::vector<bool>& tokens) {
      return tokens[static_cast<std::size_t>(i)];
    });
    if (taken && !sees(all, n, i, i))
      return Finding::broken("query " + std::to_string(i) + " does not see its own key");
  }
  return {};
}

/// Under argmax the sets of two queries are the same or have no key in common; without k every key is in one.
inline Finding partition(const Context& c) {
  if (!is(c.problem, "assign", "argmax")) return Finding::not_applicable();
  Problem problem = c.problem;
  problem.parameters["causal"] = false;
  const Outcome all = weights(c, problem);
  const Index n = problem.sizes.at("n");
  for (Index i = 0; i < n; ++i)
    for (Index other = 0; other < i; ++other) {
      Index common = 0, apart = 0;
      for (Index j = 0; j < n; ++j)
        (sees(all, n, i, j) != sees(all, n, other, j) ? apart : common) += sees(all, n, i, j) || sees(all, n, other, j);
      if (common > 0 && apart > 0)
        return Finding::broken("queries " + std::to_string(other) + " and " + std::to_string(i) +
                               " share some of their keys, and not all");
    }
  for (Index j = 0; j < n && !problem.inputs.count("k"); ++j) {
    bool seen = false;
    for (Index i = 0; i < n; ++i) seen = seen || sees(all, n, i, j);
    if (!seen) return Finding::broken("no query sees key " + std::to_string(j));
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"one_cluster", one_cluster},   {"token_order", token_order},   {"cluster_isolation", cluster_isolation},
          {"later_values", later_values}, {"quarter_turn", quarter_turn}, {"own_key", own_key},
          {"partition", partition}};
}

}  // namespace attest::properties::content::routing_attention
