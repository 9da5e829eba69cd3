// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::attention::multi_head {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// The product of two matrices whose entries are small integers: exact.
inline Array product(const Array& x, const Array& w) {
  const Index n = x.shape[0], inner = x.shape[1], width = w.shape.back();
  Array y{{n, width}, std::vector<double>(static_cast<std::size_t>(n * width))};
  for (Index i = 0; i < n; ++i)
    for (Index t = 0; t < inner; ++t)
      for (Index e = 0; e < width; ++e)
        y.values[static_cast<std::size_t>(i * width + e)] +=
            x.values[static_cast<std::size_t>(i * inner + t)] * w.values[static_cast<std::size_t>(t * width + e)];
  return y;
}

/// The problem with weights and tokens of small integers.
inline Problem of_integers(const Context& c) {
  Problem problem = c.problem;
  for (auto& [name, array] : problem.inputs)
    if (name != "mask") array = golden::draw_array("integers -1 1", array.shape, c.exact, c.seed, "property." + name);
  return problem;
}

/// The first head alone.
inline void keep_first_head(Problem& problem) {
  problem.sizes.at("h") = 1;
  for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) {
    auto& w = problem.inputs.at(name);
    w.shape[0] = 1;
    w.values.resize(static_cast<std::size_t>(w.shape[1] * w.shape[2]));
  }
}

/// One head is attention.scaled_dot_product of the projections, times W_O.
inline Finding one_head_is_attention(const Context& c) {
  Problem one = of_integers(c);
  keep_first_head(one);
  const auto& in = one.inputs;
  Problem attention{
      &find_spec("attention.scaled_dot_product"),
      {{"n", one.sizes.at("n")}, {"s", one.sizes.at("s")}, {"d", one.sizes.at("d")}, {"m", one.sizes.at("m")}},
      one.parameters,
      {}};
  attention.inputs = {{"q", product(in.at("x_q"), in.at("w_q"))},
                      {"k", product(in.at("x_k"), in.at("w_k"))},
                      {"v", product(in.at("x_v"), in.at("w_v"))}};
  if (in.count("mask")) attention.inputs["mask"] = in.at("mask");
  const auto head = golden::enclose(attention, "max_shift", 128);
  Array w_o = in.at("w_o"), sizes = w_o, radius = head.middle.at("o");
  w_o.shape = {one.sizes.at("m"), one.sizes.at("e")};
  sizes = w_o;
  for (double& w : sizes.values) w = std::abs(w);
  for (std::size_t i = 0; i < radius.values.size(); ++i)
    radius.values[i] = 0x1p-46 * std::abs(radius.values[i]) + head.radius.at("o").values[i];
  const Outcome outcome = c.evaluate(one);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), product(head.middle.at("o"), w_o),
                    product(radius, sizes), "attention, then W_O");
}

/// Heads with equal projections are one head with the sum of their blocks of W_O.
inline Finding equal_heads_are_one(const Context& c) {
  Problem equal = of_integers(c), one = equal;
  keep_first_head(one);
  for (const char* name : {"w_q", "w_k", "w_v"}) {
    const auto& first = one.inputs.at(name).values;
    auto& all = equal.inputs.at(name).values;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = first[i % first.size()];
  }
  auto& summed = one.inputs.at("w_o").values;
  const auto& blocks = equal.inputs.at("w_o").values;
  for (std::size_t i = summed.size(); i < blocks.size(); ++i) summed[i % summed.size()] += blocks[i];
  const Outcome many = c.evaluate(equal), single = c.evaluate(one);
  return laws::same(c, "o", many.values.at("o"), many.bounds().at("o"), single.values.at("o"), single.bounds().at("o"),
                    "equal heads");
}

/// With identities for projections, one head is attention.scaled_dot_product.
inline Finding identity_projections(const Context& c) {
  Problem one = of_integers(c);
  const Index f = one.sizes.at("f");
  Array identity{{1, f, f}, std::vector<double>(static_cast<std::size_t>(f * f))};
  for (Index a = 0; a < f; ++a) identity.values[static_cast<std::size_t>(a * f + a)] = 1;
  one.sizes["h"] = 1, one.sizes["d"] = one.sizes["m"] = one.sizes["e"] = f;
  for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) one.inputs[name] = identity;
  Problem attention{&find_spec("attention.scaled_dot_product"),
                    {{"n", one.sizes.at("n")}, {"s", one.sizes.at("s")}, {"d", f}, {"m", f}},
                    one.parameters,
                    {}};
  attention.inputs = {{"q", one.inputs.at("x_q")}, {"k", one.inputs.at("x_k")}, {"v", one.inputs.at("x_v")}};
  if (one.inputs.count("mask")) attention.inputs["mask"] = one.inputs.at("mask");
  const auto expected = golden::enclose(attention, "max_shift", 128);
  const Outcome outcome = c.evaluate(one);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "attention");
}

/// A block of zeros in W_O leaves what the other heads give.
inline Finding head_ablation(const Context& c) {
  const Index heads = c.problem.sizes.at("h"), removed = laws::choose(c, 1, heads);
  if (heads < 2) return Finding::not_applicable();
  Problem zeroed = c.problem;
  auto& w_o = zeroed.inputs.at("w_o");
  const Index block = w_o.size() / heads;
  std::fill_n(w_o.values.begin() + removed * block, block, 0.0);
  std::vector<Index> others;
  for (Index h = 0; h < heads; ++h)
    if (h != removed) others.push_back(h);
  const Outcome ablated = c.evaluate(zeroed), without = c.evaluate(laws::take_rows(c.problem, "h", others));
  return laws::same(c, "o", ablated.values.at("o"), ablated.bounds().at("o"), without.values.at("o"),
                    without.bounds().at("o"), "the other heads");
}

inline std::vector<laws::Property> properties() {
  return {{"one_head_is_attention", one_head_is_attention},
          {"equal_heads_are_one", equal_heads_are_one},
          {"identity_projections", identity_projections},
          {"head_ablation", head_ablation}};
}

}  // namespace attest::properties::attention::multi_head
