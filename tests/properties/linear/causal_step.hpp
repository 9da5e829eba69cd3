// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::causal_step {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Two tokens leave the same state in either order.
inline Finding state_commutes(const Context& c) {
  Problem first = c.problem, second = c.problem;
  for (const char* name : {"phi_k", "v"}) second.inputs.at(name) = laws::redrawn(c, name, 2);
  const auto final_state = [&](const Problem& a, Problem b, Arrays& allowed) {
    const Outcome before = c.evaluate(a);
    for (const char* state : {"S", "Z"}) b.inputs.at(state) = before.values.at(state);
    const Outcome after = c.evaluate(b);
    for (const char* state : {"S", "Z"}) {
      allowed[state] = after.bounds().at(state);
      for (std::size_t i = 0; i < allowed[state].values.size(); ++i)
        allowed[state].values[i] += before.bounds().at(state).values[i];
    }
    return after.values;
  };
  Arrays here, there;
  const Arrays forward = final_state(first, second, here), backward = final_state(second, first, there);
  for (const char* state : {"S", "Z"}) {
    const auto finding = laws::same(c, state, forward.at(state), here.at(state), backward.at(state), there.at(state),
                                    "two tokens in the other order");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// A key without features leaves the state, and its value reaches nobody.
inline Finding null_key(const Context& c) {
  if (std::get<std::string>(*setting(c.problem, "features")) != "given") return Finding::not_applicable();
  Problem null = c.problem, other;
  std::fill(null.inputs.at("phi_k").values.begin(), null.inputs.at("phi_k").values.end(), 0.0);
  other = null;
  other.inputs.at("v") = laws::redrawn(c, "v", 2);
  const Outcome outcome = c.evaluate(null), changed = c.evaluate(other);
  for (const char* state : {"S", "Z"}) {
    const Array& before = null.inputs.at(state);
    const auto finding =
        laws::same(c, state, outcome.values.at(state), outcome.bounds().at(state), before,
                   Array{before.shape, std::vector<double>(before.values.size())}, "a key of zero features");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), changed.values.at("o"),
                    changed.bounds().at("o"), "another value at a key of zero features");
}

inline std::vector<laws::Property> properties() { return {{"state_commutes", state_commutes}, {"null_key", null_key}}; }

}  // namespace attest::properties::linear::causal_step
