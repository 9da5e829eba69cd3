// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::perplexity {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The problem with every token counted.
inline Problem all_counted(const Context& c) {
  Problem problem = c.problem;
  problem.inputs.erase("mask");
  return problem;
}

inline double of(const Outcome& outcome, const char* name) { return outcome.values.at(name).values[0]; }
inline double error_of(const Outcome& outcome, const char* name) { return outcome.bounds().at(name).values[0]; }

/// A number as a result without axes.
inline Array scalar(double x) { return {{}, {x}}; }

/// Equal logits leave v equally likely classes.
inline Finding uniform(const Context& c) {
  Problem equal = all_counted(c);
  auto& x = equal.inputs.at("logits").values;
  std::fill(x.begin(), x.end(), 3.0);
  const Outcome outcome = c.evaluate(equal);
  const auto v = static_cast<double>(c.problem.sizes.at("v"));
  return laws::same(c, "ppl", outcome.values.at("ppl"), outcome.bounds().at("ppl"), scalar(v), scalar(0),
                    "equal logits");
}

/// No probability exceeds 1.
inline Finding lower_bound(const Context& c) {
  const Outcome outcome = c.evaluate(all_counted(c));
  if (!(of(outcome, "ppl") >= 1 - error_of(outcome, "ppl"))) return Finding::broken("ppl is below 1");
  if (!(of(outcome, "nll") >= -error_of(outcome, "nll"))) return Finding::broken("nll is below 0");
  return {};
}

/// t nll = a nll(first a tokens) + (t - a) nll(the others)
inline Finding concatenation(const Context& c) {
  const Problem whole = all_counted(c);
  const Index n = c.problem.sizes.at("t");
  if (n < 2) return Finding::not_applicable();
  const Index a = 1 + laws::choose(c, 1, n - 1);
  std::vector<Index> first(static_cast<std::size_t>(a)), second(static_cast<std::size_t>(n - a));
  std::iota(first.begin(), first.end(), Index{0});
  std::iota(second.begin(), second.end(), a);
  const Outcome all = c.evaluate(whole), head = c.evaluate(laws::take_rows(whole, "t", first)),
                tail = c.evaluate(laws::take_rows(whole, "t", second));
  const double share = static_cast<double>(a) / static_cast<double>(n);
  const auto mean = [&](double x, double y) { return share * x + (1 - share) * y; };
  const double nll = mean(of(head, "nll"), of(tail, "nll"));
  return laws::same(c, "nll", all.values.at("nll"), all.bounds().at("nll"), scalar(nll),
                    scalar(mean(error_of(head, "nll"), error_of(tail, "nll")) + 0x1p-50 * std::abs(nll)),
                    "the mean of two parts");
}

/// ppl = 2^(nll / ln 2)
inline Finding base_free(const Context& c) {
  const Outcome outcome = c.evaluate(all_counted(c));
  const double nll = of(outcome, "nll");
  if (nll > 700) return Finding::not_applicable();  // beyond binary64
  const double expected = std::exp2(nll / std::log(2.0)),
               error = expected * (std::expm1(error_of(outcome, "nll")) + 0x1p-50 * (1 + nll));
  return laws::same(c, "ppl", outcome.values.at("ppl"), outcome.bounds().at("ppl"), scalar(expected), scalar(error),
                    "2 to the nll in bits");
}

inline std::vector<laws::Property> properties() {
  return {
      {"uniform", uniform}, {"lower_bound", lower_bound}, {"concatenation", concatenation}, {"base_free", base_free}};
}

}  // namespace attest::properties::objective::perplexity
