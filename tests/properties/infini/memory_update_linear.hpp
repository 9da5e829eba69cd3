// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::infini::memory_update_linear {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// Features that are not negative make z grow, component by component.
inline Finding positive_z(const Context& c) {
  if (std::get<std::string>(*setting(c.problem, "feature_map")) == "identity") return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  const Array &z = outcome.values.at("z"), &bound = outcome.bounds().at("z");
  const auto before = c.problem.inputs.find("z");
  for (std::size_t a = 0; a < z.values.size(); ++a)
    if (!(z.values[a] + bound.values[a] >= (before == c.problem.inputs.end() ? 0 : before->second.values[a])))
      return Finding::broken("z[" + std::to_string(a) + "] has become smaller");
  return {};
}

/// The state of all tokens is the sum of the states of two parts of them.
inline Finding additive(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  Problem fresh = c.problem;
  for (const char* state : {"memory", "z"}) fresh.inputs.erase(state);
  const Index split = 1 + laws::choose(c, 1, n - 1);
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  const Outcome whole = c.evaluate(fresh),
                first = c.evaluate(laws::take_rows(fresh, "n", {rows.begin(), rows.begin() + split})),
                second = c.evaluate(laws::take_rows(fresh, "n", {rows.begin() + split, rows.end()}));
  for (const char* state : {"memory", "z"}) {
    Array sum = first.values.at(state), bound = first.bounds().at(state);
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      bound.values[i] += second.bounds().at(state).values[i] +
                         0x1p-52 * (std::abs(sum.values[i]) + std::abs(second.values.at(state).values[i]));
      sum.values[i] += second.values.at(state).values[i];
    }
    const auto finding =
        laws::same(c, state, whole.values.at(state), whole.bounds().at(state), sum, bound, "the sum of two states");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Values of 0 leave the memory and still count in z.
inline Finding zero_value(const Context& c) {
  Problem zero = c.problem;
  auto& v = zero.inputs.at("v").values;
  std::fill(v.begin(), v.end(), 0.0);
  const Outcome plain = c.evaluate(c.problem), outcome = c.evaluate(zero);
  Array before = outcome.values.at("memory"), none = before;
  std::fill(none.values.begin(), none.values.end(), 0.0);
  const auto carried = zero.inputs.find("memory");
  before.values = carried == zero.inputs.end() ? none.values : carried->second.values;
  const auto finding =
      laws::same(c, "memory", outcome.values.at("memory"), outcome.bounds().at("memory"), before, none, "values of 0");
  if (finding.kind == Finding::Kind::broken) return finding;
  return laws::same(c, "z", outcome.values.at("z"), outcome.bounds().at("z"), plain.values.at("z"),
                    plain.bounds().at("z"), "values of 0");
}

inline std::vector<laws::Property> properties() {
  return {{"positive_z", positive_z}, {"additive", additive}, {"zero_value", zero_value}};
}

}  // namespace attest::properties::infini::memory_update_linear
