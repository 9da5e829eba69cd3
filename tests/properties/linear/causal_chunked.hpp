// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::causal_chunked {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Every output against its enclosure.
inline Finding compared(const Context& c, const Outcome& outcome, const golden::Enclosure& expected,
                        const std::string& what) {
  for (const auto& [name, middle] : expected.middle) {
    const auto finding =
        laws::same(c, name, outcome.values.at(name), outcome.bounds().at(name), middle, expected.radius.at(name), what);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// A chunk of one token is linear.causal_step.
inline Finding one_token_is_a_step(const Context& c) {
  if (c.problem.sizes.at("n") < 1) return Finding::not_applicable();
  const Problem one = laws::take_rows(c.problem, "n", {0});
  Problem step{&find_spec("linear.causal_step"),
               {{"c", one.sizes.at("c")}, {"m", one.sizes.at("m")}},
               one.parameters,
               one.inputs};
  for (const char* name : {"phi_q", "phi_k", "v"}) step.inputs.at(name).shape.erase(step.inputs.at(name).shape.begin());
  auto expected = golden::enclose(step, "update_then_read", 128);
  for (auto* arrays : {&expected.middle, &expected.radius})
    arrays->at("o").shape.insert(arrays->at("o").shape.begin(), 1);
  return compared(c, c.evaluate(one), expected, "linear.causal_step");
}

/// One chunk with an empty state before it is linear.causal of the whole sequence.
inline Finding single_chunk_is_the_sequence(const Context& c) {
  if (c.problem.sizes.at("n") < 1) return Finding::not_applicable();
  Problem chunk = c.problem;
  for (const char* state : {"S", "Z"})
    std::fill(chunk.inputs.at(state).values.begin(), chunk.inputs.at(state).values.end(), 0.0);
  Problem sequence{&find_spec("linear.causal"), chunk.sizes, chunk.parameters, chunk.inputs};
  for (const char* state : {"S", "Z"}) sequence.inputs.erase(state);
  return compared(c, c.evaluate(chunk), golden::enclose(sequence, "parallel_masked", 128), "linear.causal");
}

/// The new state knows keys and values only, and not their order.
inline Finding state_of_keys_and_values(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 1) return Finding::not_applicable();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.rbegin(), order.rend(), Index{0});
  Problem other = laws::take_rows(c.problem, "n", order);
  other.inputs.at("phi_q") = laws::redrawn(c, "phi_q", 2);
  const Outcome plain = c.evaluate(c.problem), changed = c.evaluate(other);
  for (const char* state : {"S", "Z"}) {
    const auto finding =
        laws::same(c, state, plain.values.at(state), plain.bounds().at(state), changed.values.at(state),
                   changed.bounds().at(state), "other queries, tokens backwards");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"one_token_is_a_step", one_token_is_a_step},
          {"single_chunk_is_the_sequence", single_chunk_is_the_sequence},
          {"state_of_keys_and_values", state_of_keys_and_values}};
}

}  // namespace attest::properties::linear::causal_chunked
