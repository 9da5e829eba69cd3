// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::properties::memory::compressive_update {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::string text_of(const Problem& problem, const char* name) {
  return std::get<std::string>(*setting(problem, name));
}
inline Index rate_of(const Problem& problem) { return std::get<Index>(*setting(problem, "rate")); }

/// Rows numbered through compressed memory, memory and segment: all that comes out ascends, and what is no convolution
/// keeps the parts in their order.
inline Finding order(const Context& c) {
  if (text_of(c.problem, "kind") == "conv" || text_of(c.problem, "remainder") == "pad_oldest_zero")
    return Finding::not_applicable();
  Problem numbered = c.problem;
  const Index d = numbered.sizes.at("d");
  double row = 1;
  for (const char* name : {"compressed", "memory", "h"}) {
    auto& x = numbered.inputs.at(name).values;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = row;
      if ((static_cast<Index>(i) + 1) % d == 0) ++row;
    }
  }
  const Outcome outcome = c.evaluate(numbered);
  for (const char* name : {"compressed", "old", "memory"}) {
    const auto &x = outcome.values.at(name).values, &bound = outcome.bounds().at(name).values;
    const auto width = static_cast<std::size_t>(d);
    for (std::size_t i = width; i < x.size(); ++i)
      if (!(x[i] + bound[i] > x[i - width] - bound[i - width] + 0.25))
        return Finding::broken(std::string("the rows of ") + name + " do not ascend");
  }
  return {};
}

/// Rate 1: [compressed; memory] is the end of all rows.
inline Finding identity_compression(const Context& c) {
  if (text_of(c.problem, "kind") == "conv") return Finding::not_applicable();
  Problem one = c.problem;
  one.parameters["rate"] = Index{1};
  one.sizes["q"] = std::min(one.sizes.at("q"), one.sizes.at("b") + one.sizes.at("e"));
  std::vector<double> all;
  for (const char* name : {"compressed", "memory", "h"})
    all.insert(all.end(), one.inputs.at(name).values.begin(), one.inputs.at(name).values.end());
  const Outcome outcome = c.evaluate(one);
  auto end = all.end();
  for (const char* name : {"memory", "compressed"}) {
    Outcome expected;
    Array& rows = expected.values[name] = outcome.values.at(name);
    expected.bounds = outcome.bounds;
    std::copy(end - rows.size(), end, rows.values.begin());
    end -= rows.size();
    const auto finding = laws::identical(c, name, outcome, expected, "one queue");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Two segments one after the other, the first evicting whole blocks.
inline Finding two_segments(const Context& c) {
  const auto& sizes = c.problem.sizes;
  const Index n = sizes.at("n"), p = sizes.at("p"), a = sizes.at("a"), rate = rate_of(c.problem);
  if (text_of(c.problem, "remainder") != "error") return Finding::not_applicable();
  for (Index split = 1; split < n; ++split) {
    const Index evicted = a + split - p;
    if (evicted < 0 || evicted % rate != 0 || sizes.at("q") > sizes.at("b") + evicted / rate) continue;
    std::vector<Index> first(static_cast<std::size_t>(split)), second(static_cast<std::size_t>(n - split));
    std::iota(first.begin(), first.end(), Index{0});
    std::iota(second.begin(), second.end(), split);
    Problem head = laws::take_rows(c.problem, "n", first), tail = laws::take_rows(c.problem, "n", second);
    head.sizes["e"] = evicted;
    tail.sizes["a"] = p, tail.sizes["b"] = sizes.at("q"), tail.sizes["e"] = n - split;
    const Outcome whole = c.evaluate(c.problem), before = c.evaluate(head);
    for (const char* state : {"memory", "compressed"}) tail.inputs[state] = before.values.at(state);
    const Outcome after = c.evaluate(tail);
    const Arrays allowances = laws::carrying_allowances(c);
    for (const char* state : {"memory", "compressed"}) {
      Array bound = whole.bounds().at(state);
      const Array& carrying = allowances.at(state);
      for (std::size_t i = 0; i < bound.values.size(); ++i) bound.values[i] = 2 * bound.values[i] + carrying.values[i];
      const auto finding = laws::same(c, state, after.values.at(state), after.bounds().at(state),
                                      whole.values.at(state), bound, "two segments in place of one");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
    return {};
  }
  return Finding::not_applicable();
}

inline std::vector<laws::Property> properties() {
  return {{"order", order}, {"identity_compression", identity_compression}, {"two_segments", two_segments}};
}

}  // namespace attest::properties::memory::compressive_update
