// SPDX-License-Identifier: MIT
#pragma once

#include "properties/streaming/lambda_attention.hpp"

namespace attest::properties::streaming::sink_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Index sinks_of(const Problem& problem) { return std::get<Index>(*setting(problem, "sinks")); }

/// A cache for the whole call.
inline Finding fits(const Context& c) {
  const Index rows = std::max(c.problem.sizes.at("n"), sinks_of(c.problem) + 1) + laws::choose(c, 1, 3);
  return lambda_attention::causal_where_all_fits(c, c.problem, rows);
}

/// With equal products a logit of ALiBi is -slope distance: recent tokens at their distance in the text, sinks at most
/// as far as the cache is long.
inline Finding window_distances(const Context& c) {
  Problem flat = c.problem;
  flat.parameters["position"] = std::string("alibi");
  auto& q = flat.inputs.at("q").values;
  std::fill(q.begin(), q.end(), 0.0);
  const double slope = flat.inputs.at("slope").values[0];
  const Index n = flat.sizes.at("n"), rows = flat.sizes.at("c"), m = flat.sizes.at("m"), sinks = sinks_of(flat),
              recent = rows - sinks, seen = window_attention::seen_of(flat);
  const Outcome outcome = c.evaluate(flat);
  Array expected = outcome.values.at("o"), allowed = expected;
  for (Index i = 0; i < n; ++i) {
    const Index t = seen + i, past = std::min(t, rows - 1);
    std::vector<double> total(static_cast<std::size_t>(m));
    double weights = 0, size = 0;
    const auto add = [&](Index p, Index distance) {
      const bool cached = p < seen;
      const auto& v = flat.inputs.at(cached ? "cache_v" : "v").values;
      const Index row = cached ? window_attention::row_in_cache(flat, p, sinks, recent) : p - seen;
      const double weight = std::exp(-slope * static_cast<double>(distance));
      weights += weight;
      for (Index e = 0; e < m; ++e) {
        const double x = v[static_cast<std::size_t>(row * m + e)];
        total[static_cast<std::size_t>(e)] += weight * x;
        size = std::max(size, std::abs(x));
      }
    };
    for (Index p = 0; p < std::min(sinks, t + 1); ++p) add(p, past - p);
    for (Index p = std::max(sinks, t - recent + 1); p <= t; ++p) add(p, t - p);
    for (Index e = 0; e < m; ++e) {
      expected.values[static_cast<std::size_t>(i * m + e)] = total[static_cast<std::size_t>(e)] / weights;
      allowed.values[static_cast<std::size_t>(i * m + e)] = 0x1p-44 * size;
    }
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, allowed, "equal products");
}

inline Finding evicted_irrelevant(const Context& c) {
  const Index sinks = sinks_of(c.problem);
  return window_attention::unseen_irrelevant(c, sinks, c.problem.sizes.at("c") - sinks);
}

inline Finding zero_sinks(const Context& c) { return lambda_attention::without_sinks(c, "sinks"); }

inline Finding any_length(const Context& c) { return lambda_attention::any_length_of(c, "sinks"); }

inline std::vector<laws::Property> properties() {
  return {{"fits", fits},
          {"window_distances", window_distances},
          {"evicted_irrelevant", evicted_irrelevant},
          {"zero_sinks", zero_sinks},
          {"any_length", any_length}};
}

}  // namespace attest::properties::streaming::sink_attention
