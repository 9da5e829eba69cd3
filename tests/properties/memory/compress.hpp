// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::compress {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline bool is(const Problem& problem, const char* parameter, const char* choice) {
  return std::get<std::string>(*setting(problem, parameter)) == choice;
}
inline Index rate_of(const Problem& problem) { return std::get<Index>(*setting(problem, "rate")); }
inline bool pools(const Problem& problem) { return is(problem, "kind", "mean") || is(problem, "kind", "max"); }
inline double& at(Array& x, Index row, Index column) {
  return x.values[static_cast<std::size_t>(row * x.shape.back() + column)];
}

/// y against exact values, bit for bit where those are inputs.
inline Finding expect(const Context& c, const Outcome& outcome, const Array& y, const char* what) {
  Outcome expected;
  expected.values["y"] = y;
  expected.bounds = outcome.bounds;
  return laws::identical(c, "y", outcome, expected, what);
}

inline Finding rate_one(const Context& c) {
  if (!pools(c.problem)) return Finding::not_applicable();
  Problem one = c.problem;
  one.parameters["rate"] = Index{1};
  one.sizes["g"] = one.sizes.at("n");
  return expect(c, c.evaluate(one), one.inputs.at("x"), "blocks of one row");
}

inline Finding constant(const Context& c) {
  if (!pools(c.problem) || is(c.problem, "remainder", "pad_oldest_zero")) return Finding::not_applicable();
  Problem equal = c.problem;
  Array& x = equal.inputs.at("x");
  for (Index i = 0; i < x.size(); ++i)
    x.values[static_cast<std::size_t>(i)] = x.values[static_cast<std::size_t>(i % x.shape[1])];
  const Outcome outcome = c.evaluate(equal);
  Array y = outcome.values.at("y"), none = y;
  for (Index i = 0; i < y.size(); ++i)
    y.values[static_cast<std::size_t>(i)] = x.values[static_cast<std::size_t>(i % x.shape[1])];
  std::fill(none.values.begin(), none.values.end(), 0.0);
  return laws::same(c, "y", outcome.values.at("y"), outcome.bounds().at("y"), y, none, "equal rows");
}

/// What is judged has one of the two kinds; an enclosure has the other.
inline Finding max_ge_mean(const Context& c) {
  if (!pools(c.problem)) return Finding::not_applicable();
  const bool is_mean = is(c.problem, "kind", "mean");
  Problem other = c.problem;
  other.parameters["kind"] = is_mean ? "max" : "mean";
  const Outcome outcome = c.evaluate(c.problem);
  const auto enclosure = golden::enclose(other, "loop", 128);
  for (std::size_t i = 0; i < outcome.values.at("y").values.size(); ++i) {
    const double mine = outcome.values.at("y").values[i], its = enclosure.middle.at("y").values[i];
    const double slack = outcome.bounds().at("y").values[i] + enclosure.radius.at("y").values[i];
    if (!(is_mean ? its - mine >= -slack : mine - its >= -slack))
      return Finding::broken("max is below mean at y[" + std::to_string(i) + "]");
  }
  return {};
}

/// conv with w_t = factor(t) I and b = 0.
template <class F>
Problem with_taps(const Context& c, F&& factor) {
  Problem problem = c.problem;
  auto& w = problem.inputs.at("w");
  const Index d = problem.sizes.at("d");
  for (Index i = 0; i < w.size(); ++i)
    w.values[static_cast<std::size_t>(i)] = i / d % d == i % d ? factor(i / (d * d)) : 0.0;
  std::fill(problem.inputs.at("b").values.begin(), problem.inputs.at("b").values.end(), 0.0);
  return problem;
}

inline Finding conv_as_mean(const Context& c) {
  const Index rate = rate_of(c.problem);
  if (!is(c.problem, "kind", "conv") || (rate & (rate - 1)) != 0) return Finding::not_applicable();
  const Problem conv = with_taps(c, [&](Index) { return 1 / static_cast<double>(rate); });
  Problem mean = conv;
  mean.parameters["kind"] = "mean";
  const Outcome a = c.evaluate(conv), b = c.evaluate(mean);
  return laws::same(c, "y", a.values.at("y"), a.bounds().at("y"), b.values.at("y"), b.bounds().at("y"), "w_t = I/rate");
}

inline Finding conv_selects(const Context& c) {
  if (!is(c.problem, "kind", "conv")) return Finding::not_applicable();
  const Index rate = rate_of(c.problem), chosen = laws::choose(c, 1, rate), g = c.problem.sizes.at("g");
  Problem conv = with_taps(c, [&](Index t) { return t == chosen ? 1.0 : 0.0; });
  const Index first = is(conv, "remainder", "pad_oldest_zero") ? g * rate - conv.sizes.at("n") : 0;
  const Outcome outcome = c.evaluate(conv);
  Array y = outcome.values.at("y");
  for (Index r = 0; r < g; ++r)
    for (Index a = 0; a < y.shape[1]; ++a) {
      const Index row = r * rate + chosen - first;
      at(y, r, a) = row < 0 ? 0 : at(conv.inputs.at("x"), row, a);
    }
  return expect(c, outcome, y, "one tap that is I");
}

/// What is outside of a block is nothing to its result.
inline Finding block_locality(const Context& c) {
  const Index g = c.problem.sizes.at("g"), rate = rate_of(c.problem);
  if (g < 2 || (!pools(c.problem) && !is(c.problem, "kind", "conv"))) return Finding::not_applicable();
  const Index block = laws::choose(c, 1, g), n = c.problem.sizes.at("n");
  const Index first = is(c.problem, "remainder", "pad_oldest_zero") ? g * rate - n : 0;
  Problem changed = c.problem;
  const Array fresh = laws::redrawn(c, "x", 2);
  for (Index i = 0; i < fresh.size(); ++i)
    if ((i / fresh.shape[1] + first) / rate != block)
      changed.inputs.at("x").values[static_cast<std::size_t>(i)] = fresh.values[static_cast<std::size_t>(i)];
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(changed);
  const auto only = [&](const Array& y) { return laws::take(y, *c.problem.spec->output("y"), "g", {block}); };
  return laws::same(c, "y", only(plain.values.at("y")), only(plain.bounds().at("y")), only(other.values.at("y")),
                    only(other.bounds().at("y")), "changing every other block");
}

inline Finding in_block_permutation(const Context& c) {
  const Index rate = rate_of(c.problem), n = c.problem.sizes.at("n"), g = c.problem.sizes.at("g");
  if (!pools(c.problem) || rate < 2 || n % rate != 0) return Finding::not_applicable();
  std::vector<Index> order;
  for (Index r = 0; r < g; ++r)
    for (Index t = rate; t-- > 0;) order.push_back(r * rate + t);
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(laws::take_rows(c.problem, "n", order));
  return laws::same(c, "y", plain.values.at("y"), plain.bounds().at("y"), other.values.at("y"), other.bounds().at("y"),
                    "each block backwards");
}

/// Rows with their number in column 0: results are numbers that ascend, with their rows beside them.
inline Finding subset(const Context& c) {
  if (!is(c.problem, "kind", "most_used")) return Finding::not_applicable();
  Problem labelled = c.problem;
  Array& x = labelled.inputs.at("x");
  for (Index i = 0; i < x.size(); ++i)
    x.values[static_cast<std::size_t>(i)] = static_cast<double>(i / x.shape[1] + i % x.shape[1]);
  const Outcome outcome = c.evaluate(labelled);
  Array y = outcome.values.at("y");
  for (Index r = 0; r < y.shape[0]; ++r) {
    const double label = at(y, r, 0);
    if (r > 0 && !(label > at(y, r - 1, 0))) return Finding::broken("the rows that are kept do not ascend");
    for (Index a = 0; a < y.shape[1]; ++a)
      if (std::abs(at(y, r, a) - label - static_cast<double>(a)) > 0.25)
        return Finding::broken("a row that is kept is no row of the memory");
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"rate_one", rate_one},
          {"constant", constant},
          {"max_ge_mean", max_ge_mean},
          {"conv_as_mean", conv_as_mean},
          {"conv_selects", conv_selects},
          {"block_locality", block_locality},
          {"subset", subset},
          {"in_block_permutation", in_block_permutation}};
}

}  // namespace attest::properties::memory::compress
