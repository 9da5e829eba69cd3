// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::knn_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// sigma(b), and enclosures of softmax attention of the queries over some keys.
inline golden::Enclosure attention(const Problem& problem, const Array& keys, const Array& values, bool causal) {
  Problem sdp{&find_spec("attention.scaled_dot_product"), {}, {{"causal", causal}}, {}};
  sdp.sizes = {
      {"n", problem.sizes.at("n")}, {"s", keys.shape[0]}, {"d", problem.sizes.at("d")}, {"m", problem.sizes.at("m")}};
  sdp.inputs = {{"q", problem.inputs.at("q")}, {"k", keys}, {"v", values}};
  if (const auto scale = setting(problem, "scale")) sdp.parameters["scale"] = *scale;
  return golden::enclose(sdp, "dense", 128);
}

/// With k >= n nothing is left out: the retrieved part is full attention over the memory.
inline Finding top_of_everything_is_attention(const Context& c) {
  Problem all = c.problem;
  if (all.sizes.at("r") == 0 || std::get<std::string>(*setting(all, "normalise")) != "none")
    return Finding::not_applicable();
  all.parameters["top"] = all.sizes.at("r") + laws::choose(c, 1, 3);
  const Outcome outcome = c.evaluate(all);
  const auto &k = all.inputs.at("k"), &v = all.inputs.at("v"), &memory_k = all.inputs.at("memory_k"),
             &memory_v = all.inputs.at("memory_v");
  const auto local = attention(all, k, v, true), full = attention(all, memory_k, memory_v, false);
  const double g = 1 / (1 + std::exp(-all.inputs.at("gate_bias").values[0]));
  Array expected = local.middle.at("o"), bound = expected;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double a = full.middle.at("o").values[i], b = local.middle.at("o").values[i];
    expected.values[i] = g * a + (1 - g) * b;
    bound.values[i] =
        full.radius.at("o").values[i] + local.radius.at("o").values[i] + 0x1p-48 * (std::abs(a) + std::abs(b));
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, bound, "top >= r");
}

/// A closed gate leaves local attention.
inline Finding closed_gate_is_local(const Context& c) {
  Problem closed = c.problem;
  closed.inputs.at("gate_bias").values[0] = -256;
  const Outcome outcome = c.evaluate(closed);
  if (std::get<std::string>(*setting(closed, "normalise")) != "none") return Finding::not_applicable();
  const auto local = attention(closed, closed.inputs.at("k"), closed.inputs.at("v"), true);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), local.middle.at("o"),
                    local.radius.at("o"), "gate bias -256");
}

inline std::vector<laws::Property> properties() {
  return {{"top_of_everything_is_attention", top_of_everything_is_attention},
          {"closed_gate_is_local", closed_gate_is_local}};
}

}  // namespace attest::properties::memory::knn_attention
