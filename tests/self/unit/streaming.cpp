// SPDX-License-Identifier: MIT
// Which tokens of a stream reach which outputs, and how many pairs and numbers that takes: read off runs of the
// reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "attest/reference/binary64.hpp"
#include "runs.hpp"

namespace attest {
namespace {

using reference::Bundle;
using reference::Influence;

constexpr Index kUnwritten = 900;  // the token of a row of a cache that holds none

Index setting_of(const Problem& problem, const char* name) { return std::get<Index>(*setting(problem, name)); }

/// The position of row r of a cache of `sinks` and `recent` tokens in a ring, or kUnwritten.
Index position_in_cache(Index r, Index sinks, Index recent, Index seen) {
  for (Index p = std::max<Index>(0, seen - recent); p < seen; ++p)
    if (p >= sinks && sinks + (p - sinks) % recent == r) return p;
  return r < std::min(sinks, seen) ? r : kUnwritten;
}

/// The positions of the tokens that each row of an output depends on, in the form of that name. Rows of caches belong
/// to the tokens that they hold, other rows to those of the call.
std::vector<Tokens> reached(const Problem& problem, const std::string& form, Index sinks, Index recent,
                            const char* output) {
  Influence arithmetic;
  const reference::Scope scope(arithmetic);
  const Index seen = setting_of(problem, "seen");
  Bundle bundle(problem, [&](const TensorDeclaration& declared, Index flat, double x) {
    if (declared.shape.empty()) return reference::Number::input(x);
    const Index row = flat / problem.sizes.at(declared.shape.back());
    const Index token = declared.name.starts_with("cache") ? position_in_cache(row, sinks, recent, seen) : seen + row;
    return arithmetic.of_token(x, static_cast<std::size_t>(token));
  });
  evaluate(form, bundle);
  const auto values = values_of(arithmetic, bundle, output);
  const Index width = problem.sizes.at(problem.spec->output(output)->shape.back());
  std::vector<Tokens> rows(values.size() / static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tokens tokens = tokens_of(values[i]);
    auto& row = rows[i / static_cast<std::size_t>(width)];
    if (i % static_cast<std::size_t>(width) == 0) row = tokens;
    EXPECT_EQ(row, tokens) << form << " " << output << "[" << i << "]";
  }
  return rows;
}

/// The tokens that the query at position t may depend on: the first `sinks`, and the last `recent`.
Tokens kept(Index t, Index sinks, Index recent) {
  Tokens tokens;
  for (Index p = 0; p <= t; ++p)
    if (p < sinks || p > t - recent) tokens.insert(p);
  return tokens;
}

/// Outputs depend on what the policy keeps, on all of it and on nothing else; so do the rows of the new cache, each on
/// one token.
void expect_kept(const std::string& query, Index sinks, Index recent) {
  const Problem problem = drawn(query);
  const Index seen = setting_of(problem, "seen"), n = problem.sizes.at("n");
  for (const auto& form : problem.spec->forms) {
    const auto o = reached(problem, form.name, sinks, recent, "o");
    for (Index i = 0; i < n; ++i)
      EXPECT_EQ(o[static_cast<std::size_t>(i)], kept(seen + i, sinks, recent)) << query << " " << form.name << " " << i;
    for (const char* cache : {"cache_k", "cache_v"}) {
      const auto rows = reached(problem, form.name, sinks, recent, cache);
      for (std::size_t r = 0; r < rows.size(); ++r)
        EXPECT_EQ(rows[r], Tokens{position_in_cache(static_cast<Index>(r), sinks, recent, seen + n)})
            << query << " " << form.name << " " << cache << " " << r;
    }
  }
}

TEST(StreamingInfluence, OfAWindowIsTheWindow) {
  for (const char* sizes :
       {"n=9;w=4;d=2;m=3", "n=3;w=5;d=2;m=3;seen=2", "n=7;w=3;d=2;m=3;seen=11", "n=2;w=6;d=2;m=2;seen=6"}) {
    const std::string query = std::string("attest:streaming.window_attention:f64;") + sizes + ";flag=random;seed=1";
    expect_kept(query, 0, drawn(query).sizes.at("w"));
  }
}

TEST(StreamingInfluence, OfFirstAndLastTokens) {
  for (const char* id : {"lambda_attention", "sink_attention"})
    for (const char* position : {"none", "rotary", "alibi"})
      for (const char* sizes : {"n=9;c=5;d=2;m=3", "n=3;c=5;d=2;m=3;seen=2", "n=7;c=4;d=2;m=3;seen=11"}) {
        const bool sinks = std::string(id) == "sink_attention";
        const std::string query = std::string("attest:streaming.") + id + ":f64;" + sizes +
                                  (sinks ? ";sinks=2;position=" : ";starts=2;position=") + position +
                                  ";flag=random;seed=1";
        expect_kept(query, 2, drawn(query).sizes.at("c") - 2);
      }
}

/// The tokens that each row of o depends on, in the form of that name; only x is of tokens.
std::vector<Tokens> reached_by_recomputing(const Problem& problem, const std::string& form) {
  Influence arithmetic;
  const reference::Scope scope(arithmetic);
  const Index d = problem.sizes.at("d");
  Bundle bundle(problem, [&](const TensorDeclaration& declared, Index flat, double x) {
    return declared.name == "x" ? arithmetic.of_token(x, static_cast<std::size_t>(flat / d))
                                : reference::Number::input(x);
  });
  evaluate(form, bundle);
  const auto values = values_of(arithmetic, bundle, "o");
  std::vector<Tokens> rows(values.size() / static_cast<std::size_t>(d));
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / static_cast<std::size_t>(d)].merge(tokens_of(values[i]));
  return rows;
}

/// With a cache, two layers of a window reach twice as far: the first layer's outputs are the second layer's tokens.
TEST(StreamingInfluence, OfARecomputedWindowIsTheWindowAtAnyDepth) {
  const Index window = 3;
  for (const char* sizes : {"n=9;layers=1;d=2", "n=9;layers=3;d=2", "n=9;layers=2;d=2;position=sinusoidal"}) {
    const Problem problem =
        drawn(std::string("attest:streaming.window_recompute:f64;window=3;") + sizes + ";flag=random;seed=1");
    for (const auto& form : problem.spec->forms) {
      const auto rows = reached_by_recomputing(problem, form.name);
      for (Index i = 0; i < 9; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], kept(i, 0, window)) << form.name;
    }
  }
  const Problem one = drawn("attest:streaming.window_attention:f64;n=9;w=3;d=2;m=2;flag=random;seed=1");
  const auto first = reached(one, "mask", 0, window, "o");
  Tokens both;
  for (const Index t : kept(8, 0, window))
    both.insert(first[static_cast<std::size_t>(t)].begin(), first[static_cast<std::size_t>(t)].end());
  EXPECT_EQ(both, kept(8, 0, 2 * (window - 1) + 1));
}

/// What one token more takes, once its window is full: w (w + 1) / 2 pairs in each layer when all is computed again, w
/// from a cache.
TEST(StreamingCounts, RecomputationTakesManyPairs) {
  for (const Index w : {2, 5, 8})
    for (const Index layers : {1, 2}) {
      const auto of_text = [&](Index n) {
        return pairs("attest:streaming.window_recompute:f64;n=" + std::to_string(n) + ";layers=" +
                         std::to_string(layers) + ";d=2;window=" + std::to_string(w) + ";flag=random;seed=1",
                     "rerun");
      };
      const Index again = of_text(w + 3) - of_text(w + 2);
      const Index cached = layers * pairs("attest:streaming.sink_attention:f64;n=1;c=" + std::to_string(w) +
                                              ";d=2;m=2;sinks=1;seen=40;flag=random;seed=1",
                                          "rotate_at_use");
      EXPECT_EQ(again, layers * w * (w + 1) / 2);
      EXPECT_EQ(2 * again, (w + 1) * cached);
    }
}

/// The cache after texts of many lengths: it keeps every token while there is room, then c of them, the newest among
/// them.
TEST(StreamingCounts, ACacheWithEvictionDoesNotGrow) {
  const Index rows = 20, sinks = 4;
  for (const Index seen : {0, 1, 7, 18, 19, 20, 21, 1000, 4000000}) {
    const Problem problem = drawn("attest:streaming.sink_cache:f64;n=1;c=20;d=3;seen=" + std::to_string(seen) +
                                  ";sinks=" + std::to_string(sinks) + ";flag=random;seed=1");
    for (const auto& form : problem.spec->forms) {
      reference::Binary64 arithmetic;
      const auto kept = reference::outputs_of(arithmetic, problem, form.name).at("kept");
      const auto none = std::count(kept.begin(), kept.end(), -1.0);
      EXPECT_EQ(static_cast<Index>(kept.size()) - none, std::min(seen + 1, rows)) << form.name;
      EXPECT_EQ(*std::max_element(kept.begin(), kept.end()), static_cast<double>(seen));
    }
  }
}

/// Numbers in the caches that a kernel hands on.
Index cached_numbers(const char* id, const Sizes& sizes) {
  Index total = 0;
  for (const auto& output : find_spec(id).outputs)
    if (output.name.starts_with("cache")) total += count(shape_of(output, sizes));
  return total;
}

TEST(StreamingCounts, ACacheIsAsLargeAsItsPolicy) {
  const Index d = 128, m = 128, n = 32768;
  const auto times_smaller = [&](Index starts) {
    const Index cached =
        cached_numbers("streaming.lambda_attention", {{"n", 1}, {"c", 4096 + starts}, {"d", d}, {"m", m}});
    return static_cast<double>(n * (d + m)) / static_cast<double>(cached);
  };
  EXPECT_NEAR(times_smaller(10), 7.98, 0.005);
  EXPECT_NEAR(times_smaller(100), 7.81, 0.005);
}

}  // namespace
}  // namespace attest
