// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "attest/judge/laws.hpp"

namespace attest::properties::lowrank::rfa_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The output against sum_j w_ij v_j / sum_j w_ij over the keys that query i sees, in binary64: known to 2^-42 of what
/// is summed.
inline Finding expect(const Context& c, const Problem& problem, const std::function<double(Index, Index)>& weight,
                      const char* what) {
  const Outcome outcome = c.evaluate(problem);
  Array right = outcome.values.at("o"), slack = right;
  const auto& v = problem.inputs.at("v").values;
  const Index m = problem.sizes.at("m"), s = problem.sizes.at("s");
  const bool causal = std::get<bool>(*setting(problem, "causal"));
  for (Index i = 0; i < problem.sizes.at("n"); ++i)
    for (Index b = 0; b < m; ++b) {
      double numerator = 0, denominator = 0, size = 0, count = 0;
      for (Index j = 0; j < (causal ? i + 1 : s); ++j) {
        const double w = weight(i, j), value = v[static_cast<std::size_t>(j * m + b)];
        numerator += w * value, denominator += w, size += std::abs(value), count += 1;
      }
      const auto at = static_cast<std::size_t>(i * m + b);
      right.values[at] = numerator / denominator;
      // Weights of features are at most 1 each, times their keys' factors, and known to some roundings of that.
      double largest = 0;
      for (Index j = 0; j < (causal ? i + 1 : s); ++j) largest = std::max(largest, std::abs(weight(i, j)));
      largest = std::max(largest, 1.0);
      slack.values[at] = 0x1p-42 * largest * (size + count * std::abs(right.values[at])) / std::abs(denominator);
    }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), right, slack, what);
}

/// Rows of an input as rows of another equation's input.
inline Array features_of(const Problem& problem, const char* name, const char* rows) {
  const Index directions = problem.sizes.at("c");
  Problem features{
      &find_spec("lowrank.fourier_features"),
      {{"n", problem.sizes.at(rows)}, {"d", problem.sizes.at("d")}, {"c", directions}, {"p", 2 * directions}},
      {{"sigma", *setting(problem, "sigma")}},
      {{"x", problem.inputs.at(name)}, {"w", problem.inputs.at("w")}}};
  return golden::evaluate_in_double(features, "direct", {}).at("phi");
}

/// |k_j|^2 / (2 sigma^2) where keys are weighed by its exponential, else 0.
inline double key_exponent(const Problem& problem, Index j) {
  if (std::get<std::string>(*setting(problem, "key_norm")) == "none") return 0;
  const double sigma = std::get<double>(*setting(problem, "sigma"));
  const Index d = problem.sizes.at("d");
  double square = 0;
  for (Index a = 0; a < d; ++a) {
    const double x = problem.inputs.at("k").values[static_cast<std::size_t>(j * d + a)];
    square += x * x;
  }
  return square / (2 * sigma * sigma);
}

/// It is linear attention on the features of lowrank.fourier_features, weighed keys being weighed features.
inline Finding linear_attention(const Context& c) {
  const Array phi_q = features_of(c.problem, "q", "n"), phi_k = features_of(c.problem, "k", "s");
  const Index p = phi_q.shape[1];
  const auto weight = [&](Index i, Index j) {
    double w = 0;
    for (Index t = 0; t < p; ++t)
      w += phi_q.values[static_cast<std::size_t>(i * p + t)] * phi_k.values[static_cast<std::size_t>(j * p + t)];
    return w * std::exp(key_exponent(c.problem, j));
  };
  return expect(c, c.problem, weight, "linear attention on the features");
}

/// Weights of lowrank.rfa_exp_estimator: they have the lengths of queries as well.
inline Finding query_norm_cancels(const Context& c) {
  Problem problem = c.problem;
  problem.parameters["key_norm"] = std::string("corrected");
  const Index s = problem.sizes.at("s"), n = problem.sizes.at("n"), d = problem.sizes.at("d");
  Problem pairs{&find_spec("lowrank.rfa_exp_estimator"),
                {{"n", n * s}, {"d", d}, {"c", problem.sizes.at("c")}},
                {{"sigma", *setting(problem, "sigma")}},
                {{"w", problem.inputs.at("w")}}};
  Array &x = pairs.inputs["x"] = {{n * s, d}, {}}, &y = pairs.inputs["y"] = {{n * s, d}, {}};
  const auto append = [&](Array& to, const char* from, Index row) {
    const auto begin = problem.inputs.at(from).values.begin() + row * d;
    to.values.insert(to.values.end(), begin, begin + d);
  };
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) append(x, "q", i), append(y, "k", j);
  const Array est = golden::evaluate_in_double(pairs, "direct", {}).at("est");
  return expect(
      c, problem, [&](Index i, Index j) { return est.values[static_cast<std::size_t>(i * s + j)]; },
      "the estimates of the exponentials as weights");
}

inline Finding agree(const Context& c, const Problem& one, const Problem& other, const char* what) {
  return laws::agree(c, "o", one, other, what);
}

/// Keys with one entry of 1 have length 1 exactly: their factor is one number.
inline Finding corrected_equals_unit(const Context& c) {
  Problem none = c.problem;
  auto& k = none.inputs.at("k").values;
  std::fill(k.begin(), k.end(), 0.0);
  const Index d = none.sizes.at("d");
  for (Index j = 0; j < none.sizes.at("s"); ++j)
    k[static_cast<std::size_t>(j * d + laws::choose(c, static_cast<std::uint64_t>(j), d))] = 1;
  Problem corrected = none;
  none.parameters["key_norm"] = std::string("none");
  corrected.parameters["key_norm"] = std::string("corrected");
  return agree(c, corrected, none, "unit keys");
}

/// Only differences of queries and keys count.
inline Finding joint_translation(const Context& c) {
  Problem here = laws::with_drawn(c, {"q", "k"}, "integers -2 2", 0.125);
  here.parameters["key_norm"] = std::string("none");
  Problem there = here;
  const auto d = static_cast<std::size_t>(here.sizes.at("d"));
  for (const char* name : {"q", "k"}) {
    auto& x = there.inputs.at(name).values;
    for (std::size_t t = 0; t < x.size(); ++t) x[t] += static_cast<double>(laws::choose(c, t % d, 5) - 2) / 4;
  }
  return agree(c, there, here, "one vector added to queries and keys");
}

inline std::vector<laws::Property> properties() {
  return {{"linear_attention", linear_attention},
          {"query_norm_cancels", query_norm_cancels},
          {"corrected_equals_unit", corrected_equals_unit},
          {"joint_translation", joint_translation}};
}

}  // namespace attest::properties::lowrank::rfa_attention
