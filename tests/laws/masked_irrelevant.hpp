// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// Keys and values that the mask hides from every query change nothing: outputs keep their bits. NaN and infinities are
/// no inputs of an equation, yet a cache that nobody has cleared holds them: a kernel may promise that they stay hidden
/// too (hidden_nan
/// == true), or that it is never given them (false). Of one that says neither it is noted.
inline Finding masked_irrelevant(const Context& c) {
  if (!given(c.problem, Role::mask)) return Finding::not_applicable();
  const auto& declared = *c.problem.spec->input(Role::mask);
  Problem hidden = c.problem, changed = c.problem;
  const Index s = c.problem.sizes.at(c.claim.along);
  const Index key = choose(c, 1, s), filling = c.hidden_nan.value_or(true) ? choose(c, 3, 3) : 0;
  const auto stale = [&](double finite) {  // contents of a cache page that nobody has cleared
    return filling == 0   ? finite
           : filling == 1 ? std::numeric_limits<double>::quiet_NaN()
                          : std::copysign(std::numeric_limits<double>::infinity(), finite);
  };
  auto& mask = hidden.inputs.at(declared.name);
  if (declared.shape.back() != c.claim.along || s < 2) return Finding::not_applicable();
  for (Index i = key; i < mask.size(); i += s) mask.values[static_cast<std::size_t>(i)] = 0;
  changed.inputs.at(declared.name) = mask;
  for (const auto& name : c.claim.of) {
    const auto& tensor = *c.problem.spec->input(name);
    auto& array = changed.inputs.at(name);
    const Array fresh = redrawn(c, name, 2);
    const bool by_row = tensor.shape[0] == c.claim.along;  // rows of k and v; columns of logits
    for (Index i = 0; i < array.size(); ++i)
      if ((by_row ? i / array.shape[1] : i % s) == key)
        array.values[static_cast<std::size_t>(i)] = stale(64 * fresh.values[static_cast<std::size_t>(i)]);
  }
  if (averages_hidden_values(hidden)) return Finding::not_applicable();
  const Outcome plain = c.evaluate(hidden);
  Outcome other;
  try {
    other = c.evaluate(changed);
  } catch (const Refused&) {
    if (filling == 0) throw;
    return Finding::not_applicable();  // an input that holds NaN or an infinity may be refused
  }
  for (const auto& output : c.problem.spec->outputs) {
    const auto finding = identical(c, output.name, plain, other, "changing what key " + std::to_string(key) + " hides");
    if (finding.kind != Finding::Kind::broken) continue;
    if (filling == 0 || c.hidden_nan) return finding;
    return {Finding::Kind::noted,
            "NaN or infinity in what a mask hides reaches the outputs; declare hidden_nan == false where callers never "
            "leave it there, true to be held to it"};
  }
  return {};
}

}  // namespace attest::laws
