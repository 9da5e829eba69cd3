// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::rl::gtrxl_block {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline void fill(Problem& problem, const char* input, double x) {
  auto& values = problem.inputs.at(input).values;
  std::fill(values.begin(), values.end(), x);
}

inline Array filled(const Array& like, double x) { return {like.shape, std::vector<double>(like.values.size(), x)}; }

/// Gates that b = 256 closes pass the tokens; without their own weights nothing opens them.
inline Finding identity_at_init(const Context& c) {
  Problem closed = c.problem;
  closed.parameters["gate"] = std::string("gru");
  for (const char* b : {"b_g1", "b_g2"}) fill(closed, b, 256);
  for (const char* w : {"w_z1", "u_z1", "w_z2", "u_z2"}) fill(closed, w, 0);
  const Outcome outcome = c.evaluate(closed);
  const Array& e = closed.inputs.at("e");
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), e, filled(e, 0x1p-320), "closed gates");
}

/// Residual gates pass the tokens beside branches that give 0.
inline Finding identity_path(const Context& c) {
  Problem bare = c.problem;
  bare.parameters["gate"] = std::string("residual");
  bare.inputs.erase("b_2");
  fill(bare, "w_o", 0), fill(bare, "w_2", 0);
  const Outcome outcome = c.evaluate(bare);
  const Array &e = bare.inputs.at("e"), exactly = filled(e, 0);
  return laws::same(c, "z", outcome.values.at("z"), exactly, e, exactly, "branches of nothing");
}

/// Tokens and memory times 2 and eps times 4 leave what the attention branch gets, and so what it adds.
inline Finding norm_on_branch_only(const Context& c) {
  Problem once = c.problem;
  once.parameters["gate"] = std::string("residual");
  once.parameters["eps"] = 0.5;
  once.inputs.erase("b_2");
  fill(once, "w_2", 0);
  Problem twice = once;
  twice.parameters["eps"] = 2.0;
  for (const char* tokens : {"e", "memory"})
    for (double& x : twice.inputs.at(tokens).values) x *= 2;
  const Outcome a = c.evaluate(once), b = c.evaluate(twice);
  Array expected = a.values.at("z"), bound = a.bounds().at("z");
  const auto& e = once.inputs.at("e").values;
  for (std::size_t i = 0; i < e.size(); ++i) {
    expected.values[i] += e[i];
    bound.values[i] += 0x1p-51 * (std::abs(expected.values[i]) + std::abs(e[i]));
  }
  return laws::same(c, "z", b.values.at("z"), b.bounds().at("z"), expected, bound, "the tokens twice as large");
}

inline std::vector<laws::Property> properties() {
  return {{"identity_at_init", identity_at_init},
          {"identity_path", identity_path},
          {"norm_on_branch_only", norm_on_branch_only}};
}

}  // namespace attest::properties::rl::gtrxl_block
