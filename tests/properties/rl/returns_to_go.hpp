// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::rl::returns_to_go {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// x(i) and what it may be off by, as a result.
struct Expected {
  Array values, bounds;

  explicit Expected(std::size_t n) : values{{static_cast<Index>(n)}, {}}, bounds(values) {}
  void add(double x, double bound) {
    values.values.push_back(x);
    bounds.values.push_back(bound + 0x1p-52 * std::abs(x));
  }
};

/// The last return is the last reward.
inline Finding last(const Context& c) {
  const auto& r = c.problem.inputs.at("r").values;
  if (r.empty()) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  const Array got{{1}, {outcome.values.at("returns").values.back()}}, reward{{1}, {r.back()}}, exactly{{1}, {0.0}};
  return laws::same(c, "returns", got, exactly, reward, exactly, "the last reward");
}

/// R_t - R_(t+1) = r_t
inline Finding difference(const Context& c) {
  const auto& r = c.problem.inputs.at("r").values;
  const Outcome outcome = c.evaluate(c.problem);
  const auto &R = outcome.values.at("returns").values, &bound = outcome.bounds().at("returns").values;
  Expected expected(r.size());
  for (std::size_t t = 0; t < r.size(); ++t)
    expected.add(r[t] + (t + 1 < r.size() ? R[t + 1] : 0), t + 1 < r.size() ? bound[t + 1] : 0);
  return laws::same(c, "returns", outcome.values.at("returns"), outcome.bounds().at("returns"), expected.values,
                    expected.bounds, "r_t + R_(t+1)");
}

/// R_t is the prefix sum at t of the rewards in reverse: all of them less those that come after it there.
inline Finding reversal(const Context& c) {
  Problem back = c.problem;
  auto& r = back.inputs.at("r").values;
  if (r.empty()) return Finding::not_applicable();
  std::reverse(r.begin(), r.end());
  const Outcome forth = c.evaluate(c.problem), reversed = c.evaluate(back);
  const auto &R = reversed.values.at("returns").values, &bound = reversed.bounds().at("returns").values;
  Expected expected(r.size());
  for (std::size_t t = 0; t < r.size(); ++t) {
    const std::size_t there = r.size() - 1 - t;  // where step t lies in reverse
    const bool end = there + 1 == r.size();
    expected.add(R[0] - (end ? 0 : R[there + 1]), bound[0] + (end ? 0 : bound[there + 1]) + 0x1p-52 * std::abs(R[0]));
  }
  return laws::same(c, "returns", forth.values.at("returns"), forth.bounds().at("returns"), expected.values,
                    expected.bounds, "prefix sums of the reversed rewards");
}

/// The first steps alone have returns that are smaller by the return of the first step that was cut off.
inline Finding concatenation(const Context& c) {
  const Index steps = c.problem.sizes.at("t");
  if (steps < 2) return Finding::not_applicable();
  std::vector<Index> kept(static_cast<std::size_t>(1 + laws::choose(c, 1, steps - 1)));
  std::iota(kept.begin(), kept.end(), Index{0});
  const Outcome whole = c.evaluate(c.problem), part = c.evaluate(laws::take_rows(c.problem, "t", kept));
  const auto &R = whole.values.at("returns").values, &bound = whole.bounds().at("returns").values;
  Expected expected(kept.size());
  for (std::size_t t = 0; t < kept.size(); ++t)
    expected.add(R[t] - R[kept.size()], bound[t] + bound[kept.size()] + 0x1p-52 * std::abs(R[t]));
  return laws::same(c, "returns", part.values.at("returns"), part.bounds().at("returns"), expected.values,
                    expected.bounds, "the first steps alone");
}

inline std::vector<laws::Property> properties() {
  return {{"last", last}, {"difference", difference}, {"reversal", reversal}, {"concatenation", concatenation}};
}

}  // namespace attest::properties::rl::returns_to_go
