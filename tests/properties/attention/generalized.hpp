// SPDX-License-Identifier: MIT
#pragma once

#include "properties/attention/scaled_dot_product.hpp"

namespace attest::properties::attention::generalized {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::string similarity(const Context& c) { return std::get<std::string>(*setting(c.problem, "sim")); }

/// exp_dot is attention.scaled_dot_product.
inline Finding exp_is_softmax(const Context& c) {
  if (similarity(c) != "exp_dot" || std::get<std::string>(*setting(c.problem, "zero_denominator")) != "zero")
    return Finding::not_applicable();
  Problem attention{&find_spec("attention.scaled_dot_product"), c.problem.sizes, {}, c.problem.inputs};
  for (const char* name : {"scale", "causal"})
    if (const auto value = setting(c.problem, name)) attention.parameters[name] = *value;
  const auto enclosure = golden::enclose(attention, "max_shift", 128);
  const Outcome outcome = c.evaluate(c.problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), enclosure.middle.at("o"),
                    enclosure.radius.at("o"), "softmax attention");
}

/// Turning queries and keys by one angle in the plane of two columns changes nothing: no product, no distance.
inline Finding rotation(const Context& c) {
  if (c.problem.sizes.at("d") < 2 || similarity(c) == "feature_dot") return Finding::not_applicable();
  const auto [plain, other] = scaled_dot_product::turned(c);
  return scaled_dot_product::agree(c, other, plain, "a rotation of queries and keys");
}

/// An even power of q.k does not see the sign of q.
inline Finding sign_of_even_powers(const Context& c) {
  const bool even = std::get<Index>(*setting(c.problem, "power")) % 2 == 0;
  if (similarity(c) != "polynomial" || !even || std::get<double>(*setting(c.problem, "offset")) != 0)
    return Finding::not_applicable();
  Problem negated = c.problem;
  for (double& x : negated.inputs.at("q").values) x = -x;
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(negated);
  return laws::same(c, "o", other.values.at("o"), other.bounds().at("o"), plain.values.at("o"), plain.bounds().at("o"),
                    "negated queries");
}

/// (q.k)^2 is linear.attention over the features of linear.polynomial_feature_map.
inline Finding square_is_linear_attention(const Context& c) {
  if (similarity(c) != "polynomial") return Finding::not_applicable();
  Problem square = scaled_dot_product::of_integers(c);
  square.inputs.erase("mask");
  square.parameters["power"] = Index{2}, square.parameters["offset"] = 0.0, square.parameters["causal"] = false;
  const Index n = square.sizes.at("n"), s = square.sizes.at("s"), d = square.sizes.at("d");
  const auto features = [&](const char* name, Index rows) {  // products of small integers: exact
    const Problem map{&find_spec("linear.polynomial_feature_map"),
                      {{"n", rows}, {"d", d}, {"c", d * d}},
                      {{"layout", std::string("full")}},
                      {{"x", square.inputs.at(name)}}};
    return golden::enclose(map, "direct", 128).middle.at("phi");
  };
  const Problem linear{&find_spec("linear.attention"),
                       {{"n", n}, {"s", s}, {"c", d * d}, {"m", square.sizes.at("m")}},
                       {{"zero_denominator", *setting(square, "zero_denominator")}},
                       {{"phi_q", features("q", n)}, {"phi_k", features("k", s)}, {"v", square.inputs.at("v")}}};
  const auto expected = golden::enclose(linear, "associative", 128);
  const Outcome outcome = c.evaluate(square);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "linear attention over the features of the square");
}

/// The determinant of the first `n` rows of a matrix of n columns by expansion, and how far it may be off.
inline std::pair<double, double> determinant(const Array& x, const Array& bound) {
  const auto n = static_cast<std::size_t>(x.shape[1]);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double total = 0, error = 0;
  do {
    double term = 1, size = 1, largest = 1;
    for (std::size_t i = 0; i < n; ++i) {
      const auto t = i * n + order[i];
      for (std::size_t j = i + 1; j < n; ++j) term *= order[j] < order[i] ? -1 : 1;
      term *= x.values[t], size *= std::abs(x.values[t]), largest *= std::abs(x.values[t]) + bound.values[t];
    }
    total += term, error += largest - size + 0x1p-48 * largest;
  } while (std::next_permutation(order.begin(), order.end()));
  return {total, error};
}

/// Four tokens 0, 1, 2, 3 that attend to each other, values their names: the weights. Those of e^(q.k) have the
/// determinant of Vandermonde's matrix of 1, e, e^2, e^3 over the row sums, which no three features give; those of (q.k
/// + 1)^2, three features, have 0.
inline Finding the_exponential_has_no_finite_features(const Context& c) {
  if (similarity(c) != "exp_dot" && similarity(c) != "polynomial") return Finding::not_applicable();
  Problem four = c.problem;
  four.sizes["n"] = four.sizes["s"] = four.sizes["m"] = 4, four.sizes["d"] = 1;
  const Array tokens{{4, 1}, {0, 1, 2, 3}};
  four.inputs = {{"q", tokens}, {"k", tokens}, {"v", {{4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}}};
  four.parameters["causal"] = false;
  if (similarity(c) == "exp_dot")
    four.parameters["scale"] = 1.0;
  else
    four.parameters["power"] = Index{2}, four.parameters["offset"] = 1.0;
  double expected = similarity(c) == "exp_dot" ? 1 : 0;
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int j = 0; j < 4; ++j) sum += std::exp(i * j);
    for (int j = 0; j < i; ++j) expected *= std::exp(i) - std::exp(j);
    expected /= sum;
  }
  const Outcome outcome = c.evaluate(four);
  const auto [got, error] = determinant(outcome.values.at("o"), outcome.bounds().at("o"));
  return laws::same(c, "det o", {{1}, {got}}, {{1}, {error}}, {{1}, {expected}}, {{1}, {0x1p-44 * expected}},
                    "the rank of the weights");
}

inline std::vector<laws::Property> properties() {
  return {{"exp_is_softmax", exp_is_softmax},
          {"rotation", rotation},
          {"sign_of_even_powers", sign_of_even_powers},
          {"square_is_linear_attention", square_is_linear_attention},
          {"the_exponential_has_no_finite_features", the_exponential_has_no_finite_features}};
}

}  // namespace attest::properties::attention::generalized
