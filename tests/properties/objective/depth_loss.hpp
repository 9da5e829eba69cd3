// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::objective::depth_loss {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double of(const Outcome& outcome, const char* name) { return outcome.values.at(name).values[0]; }
inline double error_of(const Outcome& outcome, const char* name) { return outcome.bounds().at(name).values[0]; }

/// An output against a number that is off by a few roundings of numbers of that size.
inline Finding is(const Context& c, const Outcome& outcome, const char* name, double expected, double error,
                  const std::string& what) {
  return laws::same(c, name, outcome.values.at(name), outcome.bounds().at(name), {{}, {expected}}, {{}, {error}}, what);
}

inline Finding non_negative(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  for (const double x : c.problem.inputs.at("log_p").values)
    if (x > 0) return Finding::not_applicable();  // a tiny number of either sign
  for (const char* name : {"l_dec", "l_exit"})
    if (!(of(outcome, name) >= -error_of(outcome, name))) return Finding::broken(std::string(name) + " is below 0");
  return {};
}

/// q* = 1 at one layer of each token gives the sum of -ln q there.
inline Finding one_hot(const Context& c) {
  Problem chosen = c.problem;
  auto& q_star = chosen.inputs.at("q_star").values;
  const auto& q = chosen.inputs.at("q").values;
  const Index layers = c.problem.sizes.at("n");
  double expected = 0;
  for (std::size_t i = 0; i < q_star.size(); ++i) {
    const auto token = static_cast<Index>(i) / layers;
    const bool here = laws::choose(c, static_cast<std::uint64_t>(token), layers) == static_cast<Index>(i) % layers;
    q_star[i] = here ? 1 : 0;
    if (here) expected -= std::log(q[i]);
  }
  return is(c, c.evaluate(chosen), "l_exit", expected, 0x1p-44 * (1 + expected), "-ln q of the chosen layers");
}

/// Shares of 64 among the layers of each token: probabilities that add up to 1 exactly.
inline void share_out(const Context& c, Problem& problem, const char* input, std::uint64_t salt) {
  auto& p = problem.inputs.at(input).values;
  const auto layers = static_cast<std::size_t>(problem.sizes.at("n"));
  for (std::size_t row = 0; row < p.size(); row += layers) {
    Index left = 64 - static_cast<Index>(layers);  // each has one at least
    for (std::size_t n = 0; n < layers; ++n) {
      const Index more = n + 1 == layers ? left : laws::choose(c, salt + row + n, left + 1);
      p[row + n] = static_cast<double>(1 + more) / 64;
      left -= more;
    }
  }
}

/// For probabilities, L_exit is at least the entropy of q*, and equal to it where q = q*.
inline Finding gibbs(const Context& c) {
  if (c.problem.sizes.at("n") > 64) return Finding::not_applicable();
  Problem problem = c.problem;
  share_out(c, problem, "q_star", 1000), share_out(c, problem, "q", 2000);
  double entropy = 0;
  for (const double p : problem.inputs.at("q_star").values) entropy -= p * std::log(p);
  const double error = 0x1p-44 * (1 + entropy);
  const Outcome other = c.evaluate(problem);
  if (!(of(other, "l_exit") >= entropy - error - error_of(other, "l_exit")))
    return Finding::broken("l_exit is below the entropy of q*");
  problem.inputs.at("q") = problem.inputs.at("q_star");
  return is(c, c.evaluate(problem), "l_exit", entropy, error, "the entropy of q* where q = q*");
}

/// One layer gives -sum_t l_t.
inline Finding single_layer(const Context& c) {
  const Problem one = laws::take_rows(c.problem, "n", {0});
  double sum = 0, size = 0;
  for (const double x : one.inputs.at("log_p").values) sum -= x, size += std::abs(x);
  return is(c, c.evaluate(one), "l_dec", sum, 0x1p-44 * size, "the log-likelihood of one layer");
}

/// Losses of the first tokens and of the others add up.
inline Finding token_additivity(const Context& c) {
  const Index tokens = c.problem.sizes.at("t");
  if (tokens < 2) return Finding::not_applicable();
  const Index split = 1 + laws::choose(c, 1, tokens - 1);
  std::vector<Index> first(static_cast<std::size_t>(split)), second(static_cast<std::size_t>(tokens - split));
  std::iota(first.begin(), first.end(), Index{0});
  std::iota(second.begin(), second.end(), split);
  const Outcome whole = c.evaluate(c.problem), head = c.evaluate(laws::take_rows(c.problem, "t", first)),
                tail = c.evaluate(laws::take_rows(c.problem, "t", second));
  for (const char* name : {"l_dec", "l_exit", "loss"}) {
    const double sum = of(head, name) + of(tail, name);
    const auto finding = is(c, whole, name, sum, error_of(head, name) + error_of(tail, name) + 0x1p-50 * std::abs(sum),
                            "the sum of two parts");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"non_negative", non_negative},
          {"one_hot", one_hot},
          {"gibbs", gibbs},
          {"single_layer", single_layer},
          {"token_additivity", token_additivity}};
}

}  // namespace attest::properties::objective::depth_loss
