// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::infini::gate {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline Array zeros(const Array& like) { return {like.shape, std::vector<double>(like.values.size())}; }

/// The result at that gate against one of its inputs: sigma(-256) is 7e-112.
inline Finding at_limit(const Context& c, double beta, const char* input) {
  Problem limit = c.problem;
  limit.inputs.at("beta").values[0] = beta;
  const Outcome outcome = c.evaluate(limit);
  const Array& expected = limit.inputs.at(input);
  const Array left{expected.shape,
                   std::vector<double>(expected.values.size(), 0x1p-340)};  // sigma(-256) of the other branch
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), expected, left,
                    std::string("the limit ") + input);
}
inline Finding local_limit(const Context& c) { return at_limit(c, -256, "a_dot"); }
inline Finding memory_limit(const Context& c) { return at_limit(c, 256, "a_mem"); }

/// gate(beta, x, y) = gate(-beta, y, x)
inline Finding swap(const Context& c) {
  Problem other = c.problem;
  other.inputs.at("beta").values[0] *= -1;
  std::swap(other.inputs.at("a_mem"), other.inputs.at("a_dot"));
  const Outcome plain = c.evaluate(c.problem), swapped = c.evaluate(other);
  return laws::same(c, "a", plain.values.at("a"), plain.bounds().at("a"), swapped.values.at("a"),
                    swapped.bounds().at("a"), "-beta, branches exchanged");
}

/// Every element lies between those that it was mixed of.
inline Finding between(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const auto &mem = c.problem.inputs.at("a_mem").values, &dot = c.problem.inputs.at("a_dot").values,
             &a = outcome.values.at("a").values;
  const auto& bound = outcome.bounds().at("a").values;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::min(mem[i], dot[i]) - bound[i] <= a[i] && a[i] <= std::max(mem[i], dot[i]) + bound[i]))
      return Finding::broken("a[" + std::to_string(i) + "] lies outside its two inputs");
  return {};
}

/// A mixture of equals is what they are.
inline Finding equal_inputs(const Context& c) {
  Problem equal = c.problem;
  equal.inputs.at("a_dot") = equal.inputs.at("a_mem");
  const Outcome outcome = c.evaluate(equal);
  const Array& x = equal.inputs.at("a_mem");
  return laws::same(c, "a", outcome.values.at("a"), outcome.bounds().at("a"), x, zeros(x), "equal inputs");
}

inline std::vector<laws::Property> properties() {
  return {{"local_limit", local_limit},
          {"memory_limit", memory_limit},
          {"swap", swap},
          {"between", between},
          {"equal_inputs", equal_inputs}};
}

}  // namespace attest::properties::infini::gate
