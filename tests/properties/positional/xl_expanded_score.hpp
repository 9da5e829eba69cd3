// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::positional::xl_expanded_score {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Without positions it is the product of two projections of attention.qkv_projection. Small integers: both are exact.
inline Finding zero_positions(const Context& c) {
  Problem zero = c.problem;
  for (auto& [name, array] : zero.inputs) {
    if (name.starts_with("p_"))
      std::fill(array.values.begin(), array.values.end(), 0.0);
    else
      array = golden::draw_array("integers -2 2", array.shape, c.exact, c.seed, "property." + name);
  }
  const Index n = zero.sizes.at("n"), s = zero.sizes.at("s"), d = zero.sizes.at("d");
  Problem projection{&find_spec("attention.qkv_projection"),
                     {{"n", n}, {"s", s}, {"f", zero.sizes.at("f")}, {"d", d}, {"m", d}},
                     {},
                     {}};
  const auto& in = zero.inputs;
  projection.inputs = {
      {"x", in.at("x_q")}, {"x_kv", in.at("x_k")}, {"w_q", in.at("w_q")}, {"w_k", in.at("w_k")}, {"w_v", in.at("w_k")}};
  const auto projected = golden::enclose(projection, "separate", 128).middle;
  const auto &q = projected.at("q").values, &k = projected.at("k").values;
  Array content{{n, s}, {}};
  for (auto query = q.begin(); query != q.end(); query += d)
    for (auto key = k.begin(); key != k.end(); key += d)
      content.values.push_back(std::inner_product(query, query + d, key, 0.0));
  const Array exact{{n, s}, std::vector<double>(content.values.size(), 0.0)};
  const Outcome outcome = c.evaluate(zero);
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), content, exact, "content alone");
}

/// Exchanging the two sides, with their projections, transposes the scores.
inline Finding transpose(const Context& c) {
  Problem exchanged = c.problem;
  std::swap(exchanged.sizes.at("n"), exchanged.sizes.at("s"));
  for (const char* name : {"x_", "p_", "w_"})
    std::swap(exchanged.inputs.at(std::string(name) + "q"), exchanged.inputs.at(std::string(name) + "k"));
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(exchanged);
  const auto transposed = [](const Array& x) {
    Array y{{x.shape[1], x.shape[0]}, {}};
    for (Index j = 0; j < y.shape[0]; ++j)
      for (Index i = 0; i < y.shape[1]; ++i) y.values.push_back(x.values[static_cast<std::size_t>(i * y.shape[0] + j)]);
    return y;
  };
  return laws::same(c, "a", other.values.at("a"), other.bounds().at("a"), transposed(plain.values.at("a")),
                    transposed(plain.bounds().at("a")), "the two sides exchanged");
}

inline std::vector<laws::Property> properties() {
  return {{"zero_positions", zero_positions}, {"transpose", transpose}};
}

}  // namespace attest::properties::positional::xl_expanded_score
