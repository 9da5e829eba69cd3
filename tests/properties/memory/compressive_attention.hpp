// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::compressive_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Without a compressed memory, and with values as wide as the states: one layer of segment recurrence, one segment.
inline Finding no_compressed(const Context& c) {
  Problem bare = laws::take_rows(c.problem, "b", {});
  const auto& sizes = bare.sizes;
  const Index f = sizes.at("f"), n = sizes.at("n"), a = sizes.at("a");
  if (sizes.at("m") != f) return Finding::not_applicable();
  Problem layer{&find_spec("memory.segment_recurrence"),
                {{"n", n}, {"l", 1}, {"f", f}, {"d", sizes.at("d")}, {"r", a}, {"c", a}, {"p", sizes.at("p")}},
                {{"score", *setting(bare, "score")}},
                {}};
  if (const auto scale = setting(bare, "scale")) layer.parameters["scale"] = *scale;
  for (const auto& input : layer.spec->inputs) {
    const auto mine = bare.inputs.find(input.name);
    if (mine != bare.inputs.end()) layer.inputs[input.name] = {shape_of(input, layer.sizes), mine->second.values};
  }
  const auto expected = golden::enclose(layer, "concatenate", 128);
  const Outcome outcome = c.evaluate(bare);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected.middle.at("o"),
                    expected.radius.at("o"), "a layer of segment recurrence");
}

inline std::vector<laws::Property> properties() { return {{"no_compressed", no_compressed}}; }

}  // namespace attest::properties::memory::compressive_attention
