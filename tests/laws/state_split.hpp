// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "attest/judge/laws.hpp"

namespace attest::laws {

/// A prefix, its final states carried, then the rest: the same as all at once. The carried states are rounded as any
/// output is, so they enter the second call as they came.
inline Finding state_split(const Context& c) {
  const Index n = c.problem.sizes.at(c.claim.along);
  if (n < 2) return Finding::not_applicable();
  Index unit = 1;
  if (c.problem.spec->parameter(Role::segment_length)) {
    const auto segment = setting(c.problem, Role::segment_length);
    if (!segment) return Finding::not_applicable();
    unit = std::get<Index>(*segment);
  }
  if (n <= unit) return Finding::not_applicable();
  const Index parts = (n - 1) / unit;
  const Index split = unit * (1 + choose(c, 1, parts));
  std::vector<Index> first(static_cast<std::size_t>(split)), second(static_cast<std::size_t>(n - split));
  std::iota(first.begin(), first.end(), Index{0});
  std::iota(second.begin(), second.end(), split);
  const Problem before = take_rows(c.problem, c.claim.along, first);
  try {
    check(before);
  } catch (const SpecError&) {  // a memory that so few tokens do not fill
    return Finding::not_applicable();
  }
  const Outcome whole = c.evaluate(c.problem), head = c.evaluate(before);
  Problem rest = take_rows(c.problem, c.claim.along, second);
  if (const auto* first_position = c.problem.spec->parameter(Role::first_position)) {
    const auto position = setting(c.problem, Role::first_position);
    rest.parameters[first_position->name] = (position ? std::get<Index>(*position) : 0) + split;
  }
  bool carried = false;
  for (const auto& output : c.problem.spec->outputs) {
    if (!is_carried(*c.problem.spec, output)) continue;
    if (!head.values.count(output.name)) return Finding::not_applicable();  // the kernel does not give its state
    const Array& state = rest.inputs[output.name] = head.values.at(output.name);
    const auto& axes = c.problem.spec->input(output.name)->shape;  // a memory may have grown
    for (std::size_t axis = 0; axis < axes.size(); ++axis) rest.sizes[axes[axis]] = state.shape[axis];
    carried = true;
  }
  if (!carried) return Finding::not_applicable();
  const Outcome tail = c.evaluate(rest);
  const Arrays allowances = carrying_allowances(c);
  for (const auto& output : c.problem.spec->outputs) {
    if (!whole.values.count(output.name)) continue;
    Array joined = tail.values.at(output.name), bound = tail.bounds().at(output.name);
    if (!output.shape.empty() && output.shape[0] == c.claim.along) {
      const Array &first_part = head.values.at(output.name), &its_bound = head.bounds().at(output.name);
      joined.values.insert(joined.values.begin(), first_part.values.begin(), first_part.values.end());
      bound.values.insert(bound.values.begin(), its_bound.values.begin(), its_bound.values.end());
    }
    // The second call's own bound starts from the state it was given; the whole run's bound covers that state's error.
    Array wide = whole.bounds().at(output.name);
    const Array& carrying = allowances.at(output.name);
    for (std::size_t i = 0; i < wide.values.size(); ++i) wide.values[i] = 2 * wide.values[i] + carrying.values[i];
    const auto finding = same(c, output.name, joined, bound, whole.values.at(output.name), wide,
                              "split after " + std::to_string(split) + " " + c.claim.along);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

}  // namespace attest::laws
