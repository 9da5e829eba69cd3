// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "attest/judge/laws.hpp"

namespace attest::properties::sparse::attend {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Attention.scaled_dot_product of the queries, keys and values, over enclosures.
inline golden::Enclosure attention(const Problem& problem, bool causal = false, const Array* mask = nullptr) {
  Problem plain{&find_spec("attention.scaled_dot_product"), {}, {{"causal", causal}}, {}};
  for (const char* name : {"q", "k", "v"}) plain.inputs[name] = problem.inputs.at(name);
  const auto &q = plain.inputs.at("q").shape, &v = plain.inputs.at("v").shape;
  plain.sizes = {{"n", q[0]}, {"s", v[0]}, {"d", q[1]}, {"m", v[1]}};
  if (mask) plain.inputs["mask"] = *mask;
  if (const auto scale = setting(problem, "scale")) plain.parameters["scale"] = *scale;
  return golden::enclose(plain, "max_shift", 128);
}

/// The problem evaluates to that.
inline Finding equals(const Context& c, const Problem& problem, const golden::Enclosure& expected,
                      const std::string& what) {
  const Outcome outcome = c.evaluate(problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), what);
}

/// Attention with the mask sees(i, j).
template <class F>
Finding equals_masked(const Context& c, const Problem& problem, F&& sees, const std::string& what) {
  const Index n = problem.inputs.at("q").shape[0], s = problem.inputs.at("k").shape[0];
  Array mask{{n, s}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) mask.values.push_back(sees(i, j) ? 1 : 0);
  return equals(c, problem, attention(problem, false, &mask), what);
}

/// One row of o from two outcomes.
inline Finding same_row(const Context& c, Index row, const Outcome& a, const Outcome& b, const std::string& what) {
  const auto only = [&](const Outcome& outcome) {
    const auto some = [&c, row](const Array& o) {
      return laws::take(o, *c.problem.spec->output("o"), c.problem.spec->output("o")->shape[0], {row});
    };
    Outcome kept;
    kept.values["o"] = some(outcome.values.at("o"));
    kept.bounds = [some, all = outcome.bounds, bounds = Arrays()]() mutable -> const Arrays& {
      bounds["o"] = some(all().at("o"));
      return bounds;
    };
    return kept;
  };
  return laws::identical(c, "o", only(a), only(b), what);
}

/// Keys and values that a query does not see change nothing for it, bit for bit: sees(i, j) for a chosen row i.
template <class F>
Finding unseen_irrelevant(const Context& c, const Problem& problem, F&& sees) {
  const Index row = laws::choose(c, 1, problem.inputs.at("q").shape[0]), s = problem.inputs.at("k").shape[0];
  Problem changed = problem;
  bool any = false;
  for (const char* name : {"k", "v"}) {
    auto& x = changed.inputs.at(name);
    const Array fresh = laws::redrawn(c, name, 2);
    const Index width = x.shape[1];
    for (Index j = 0; j < s; ++j) {
      if (sees(row, j)) continue;
      any = true;
      std::copy_n(fresh.values.begin() + j * width, width, x.values.begin() + j * width);
    }
  }
  if (!any) return Finding::not_applicable();
  return same_row(c, row, c.evaluate(problem), c.evaluate(changed),
                  "keys that query " + std::to_string(row) + " does not see");
}

/// The problem with lists of `places` indices index(i, t), all of which count.
template <class F>
Problem with_sets(const Problem& from, Index places, F&& index) {
  Problem problem = from;
  const Index n = problem.sizes.at("n");
  problem.sizes["c"] = places;
  problem.inputs.erase("counts");
  Array sets{{n, places}, {}};
  for (Index i = 0; i < n; ++i)
    for (Index t = 0; t < places; ++t) sets.values.push_back(static_cast<double>(index(i, t)));
  problem.inputs["sets"] = sets;
  return problem;
}

inline Finding all_keys(const Context& c) {
  const Index s = c.problem.sizes.at("s");
  return equals(c, with_sets(c.problem, s, [&](Index i, Index t) { return (i + t) % s; }), attention(c.problem),
                "sets of all keys");
}

/// A set of one key: o_i = v_j.
inline Finding singleton(const Context& c) {
  const Index s = c.problem.sizes.at("s"), first = laws::choose(c, 1, s);
  const auto key = [&](Index i, Index) { return (first + 3 * i) % s; };
  const Outcome outcome = c.evaluate(with_sets(c.problem, 1, key));
  std::vector<Index> rows;
  for (Index i = 0; i < c.problem.sizes.at("n"); ++i) rows.push_back(key(i, 0));
  Outcome expected;
  expected.values["o"] = laws::take(c.problem.inputs.at("v"), *c.problem.spec->input("v"), "s", rows);
  expected.bounds = outcome.bounds;
  return laws::identical(c, "o", outcome, expected, "sets of one key");
}

/// S_i = {j <= i}, the key of the query itself in the places that are left.
inline Finding causal_sets(const Context& c) {
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s");
  const auto problem = with_sets(c.problem, s, [&](Index i, Index t) { return std::min({t, i, s - 1}); });
  if (n > s) return Finding::not_applicable();
  return equals_masked(c, problem, [](Index i, Index j) { return j <= i; }, "the keys up to a query's own");
}

inline Finding outside_irrelevant(const Context& c) {
  const Array& sets = c.problem.inputs.at("sets");
  const auto counts = c.problem.inputs.find("counts");
  const Index places = sets.shape[1];
  return unseen_irrelevant(c, c.problem, [&](Index i, Index j) {
    const auto begin = sets.values.begin() + i * places;
    const Index count = counts == c.problem.inputs.end()
                            ? places
                            : static_cast<Index>(counts->second.values[static_cast<std::size_t>(i)]);
    return std::find(begin, begin + count, static_cast<double>(j)) != begin + count;
  });
}

inline std::vector<laws::Property> properties() {
  return {{"all_keys", all_keys},
          {"singleton", singleton},
          {"causal_sets", causal_sets},
          {"outside_irrelevant", outside_irrelevant}};
}

}  // namespace attest::properties::sparse::attend
