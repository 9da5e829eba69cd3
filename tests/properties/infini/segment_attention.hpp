// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::infini::segment_attention {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// A gate of beta -> -infinity leaves causal attention inside each segment.
inline Finding closed_gate_is_local_attention(const Context& c) {
  Problem closed = c.problem;
  if (std::get<std::string>(*setting(closed, "position")) != "none") return Finding::vacuous();
  if (std::get<std::string>(*setting(closed, "zero_denominator")) == "nan") return Finding::vacuous();  // NaN times any gate
  closed.inputs.at("beta").values[0] = -256;
  const Outcome outcome = c.evaluate(closed);
  const Index n = closed.sizes.at("n");
  const auto segment = setting(closed, "segment");
  const Index length = segment ? std::get<Index>(*segment) : n;
  Array expected{outcome.values.at("o").shape, {}}, radius = expected;
  for (Index first = 0; first < n; first += length) {
    std::vector<Index> rows(static_cast<std::size_t>(std::min(length, n - first)));
    std::iota(rows.begin(), rows.end(), first);
    const Problem part = laws::take_rows(closed, "n", rows);
    const auto size = static_cast<Index>(rows.size());
    Problem local{&find_spec("attention.scaled_dot_product"),
                  {{"n", size}, {"s", size}, {"d", closed.sizes.at("d")}, {"m", closed.sizes.at("m")}},
                  {{"causal", true}},
                  {{"q", part.inputs.at("q")}, {"k", part.inputs.at("k")}, {"v", part.inputs.at("v")}}};
    if (const auto scale = setting(closed, "scale")) local.parameters["scale"] = *scale;
    const auto enclosure = golden::enclose(local, "dense", 128);
    const auto append = [](Array& to, const Array& from) { to.values.insert(to.values.end(), from.values.begin(), from.values.end()); };
    append(expected, enclosure.middle.at("o"));
    append(radius, enclosure.radius.at("o"));
  }
  // sigma(-256) is 7e-112: nothing of the memory is left in any format.
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), expected, radius, "beta = -256");
}

inline std::vector<laws::Property> properties() { return {{"a closed gate is local causal attention", closed_gate_is_local_attention}}; }

}  // namespace attest::properties::infini::segment_attention
