// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::adaptive::depth_oracle {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Log-likelihoods that are multiples of 1/8, and a price of which no multiple is one: sums that do not tie.
inline Problem decided(const Context& c, const char* level, double sigma) {
  Problem problem = c.problem;
  problem.parameters["target"] = std::string("likelihood"), problem.parameters["level"] = std::string(level);
  problem.parameters["penalty"] = 0.3, problem.parameters["sigma"] = sigma;
  auto& log_p = problem.inputs.at("log_p").values;
  for (std::size_t i = 0; i < log_p.size(); ++i) log_p[i] = -static_cast<double>(laws::choose(c, 200 + i, 16)) / 8;
  return problem;
}

inline std::vector<double> exits(const Context& c, const Problem& problem) {
  const Outcome outcome = c.evaluate(problem);
  return outcome.values.at("exits").values;
}

inline Finding equal(const std::vector<double>& a, const std::vector<double>& b, const char* what) {
  for (std::size_t t = 0; t < a.size(); ++t)
    if (a[t] != b[t])
      return Finding::broken("token " + std::to_string(t) + " leaves after layer " + std::to_string(a[t]) + ", not " +
                             std::to_string(b[t]) + ": " + what);
  return {};
}

inline Finding large_lambda(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["target"] = std::string("correctness"), problem.parameters["penalty"] = 4096.0;
  const auto all = exits(c, problem);
  return equal(all, std::vector<double>(all.size(), 1), "a layer costs 4096");
}

inline Finding constant_shift(const Context& c) {
  const Problem plain = decided(c, "token", 2);
  Problem shifted = plain;
  auto& log_p = shifted.inputs.at("log_p").values;
  const auto tokens = static_cast<std::size_t>(c.problem.sizes.at("t"));
  for (std::size_t i = 0; i < log_p.size(); ++i) log_p[i] -= static_cast<double>(i % tokens % 3);
  return equal(exits(c, shifted), exits(c, plain), "a number is added to all layers of a token");
}

inline Finding monotone(const Context& c) {
  for (const char* level : {"token", "sequence"}) {
    const Problem cheap = decided(c, level, 2);
    Problem dear = cheap;
    dear.parameters["penalty"] = 0.7;
    const auto late = exits(c, cheap), early = exits(c, dear);
    for (std::size_t t = 0; t < late.size(); ++t)
      if (early[t] > late[t]) return Finding::broken("a higher price leads to a later exit");
  }
  return {};
}

/// sigma = 2^-10: the neighbours weigh less than any number.
inline Finding narrow_kernel(const Context& c) {
  const Problem problem = decided(c, "token", 0x1p-10);
  const auto& log_p = problem.inputs.at("log_p").values;
  const auto layers = static_cast<std::size_t>(c.problem.sizes.at("n")),
             tokens = static_cast<std::size_t>(c.problem.sizes.at("t"));
  std::vector<double> alone(tokens);
  for (std::size_t t = 0; t < tokens; ++t) {
    std::size_t best = 0;
    for (std::size_t n = 1; n < layers; ++n)
      if (log_p[n * tokens + t] - 0.3 * static_cast<double>(n) >
          log_p[best * tokens + t] - 0.3 * static_cast<double>(best))
        best = n;
    alone[t] = static_cast<double>(best + 1);
  }
  return equal(exits(c, problem), alone, "neighbours count");
}

/// sigma = 2^60: all tokens weigh the same.
inline Finding wide_kernel(const Context& c) {
  return equal(exits(c, decided(c, "token", 0x1p60)), exits(c, decided(c, "sequence", 1)), "all tokens weigh the same");
}

/// Tokens in reverse order.
inline Finding reversal(const Context& c) {
  const Problem plain = decided(c, "token", 2);
  std::vector<Index> order;
  for (Index t = c.problem.sizes.at("t"); t-- > 0;) order.push_back(t);
  auto reversed = exits(c, laws::take_rows(plain, "t", order));
  std::reverse(reversed.begin(), reversed.end());
  return equal(reversed, exits(c, plain), "tokens in reverse order");
}

inline Finding one_hot(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const auto &q = outcome.values.at("q_star").values, &exit = outcome.values.at("exits").values;
  const auto layers = static_cast<std::size_t>(c.problem.sizes.at("n"));
  for (std::size_t i = 0; i < q.size(); ++i)
    if (q[i] != (static_cast<double>(i % layers + 1) == exit[i / layers] ? 1 : 0))
      return Finding::broken("q* of layer " + std::to_string(i % layers + 1) + " is " + std::to_string(q[i]) +
                             ", and the token leaves after layer " + std::to_string(exit[i / layers]));
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"large_lambda", large_lambda},
          {"constant_shift", constant_shift},
          {"monotone", monotone},
          {"narrow_kernel", narrow_kernel},
          {"wide_kernel", wide_kernel},
          {"reversal", reversal},
          {"one_hot", one_hot}};
}

}  // namespace attest::properties::adaptive::depth_oracle
