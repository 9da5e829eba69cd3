// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::causal {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline std::vector<Index> range(Index first, Index last) {
  std::vector<Index> rows(static_cast<std::size_t>(last - first));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

/// Any split of the sequence into calls, each with a chunk size of its own, the state carried from call to call, equals
/// one call: what chunks, calls and tokens are is the caller's affair.
inline Finding any_split_into_calls(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 3) return Finding::not_applicable();
  std::vector<Index> ends;
  for (std::uint64_t call = 0; call < 3; ++call) ends.push_back(1 + laws::choose(c, 10 + call, n));
  ends.push_back(n);
  std::sort(ends.begin(), ends.end());
  const Outcome whole = c.evaluate(c.problem);
  if (!whole.values.count("S") || !whole.values.count("Z")) return Finding::not_applicable();
  Arrays carried;
  Array joined{{0, c.problem.sizes.at("m")}, {}}, bound = joined;
  Index first = 0;
  Outcome last;
  for (std::size_t call = 0; call < ends.size(); ++call) {
    if (ends[call] == first) continue;
    Problem part = laws::take_rows(c.problem, "n", range(first, ends[call]));
    part.parameters["chunk"] = 1 + laws::choose(c, 20 + call, 9);
    for (const auto& [name, state] : carried) part.inputs[name] = state;
    last = c.evaluate(part);
    for (const char* state : {"S", "Z"}) carried[state] = last.values.at(state);
    const auto append = [](Array& to, const Array& from) {
      to.values.insert(to.values.end(), from.values.begin(), from.values.end());
    };
    append(joined, last.values.at("o"));
    append(bound, last.bounds().at("o"));
    first = ends[call];
  }
  joined.shape[0] = n;
  // Each call rounds the states that it hands on: at most four more roundings on the way of every term.
  const Arrays allowances = laws::carrying_allowances(c);
  const auto allowed = [&](const std::string& output) {
    Array wide = whole.bounds().at(output);
    const Array& carrying = allowances.at(output);
    for (std::size_t i = 0; i < wide.values.size(); ++i) wide.values[i] = 4 * wide.values[i] + carrying.values[i];
    return wide;
  };
  auto finding = laws::same(c, "o", joined, bound, whole.values.at("o"), allowed("o"), "any split into calls");
  for (const char* state : {"S", "Z"})
    if (finding.kind == Finding::Kind::holds)
      finding = laws::same(c, state, carried[state], last.bounds().at(state), whole.values.at(state), allowed(state),
                           "any split into calls");
  return finding;
}

/// The state is a monoid under addition: the state of a whole is the sum of the states of its parts, however they are
/// grouped, and no state is its identity.
inline Finding state_is_a_monoid(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 3) return Finding::not_applicable();
  Problem plain = c.problem;
  plain.inputs.erase("S");
  plain.inputs.erase("Z");
  const Index a = 1 + laws::choose(c, 1, n - 2), b = a + 1 + laws::choose(c, 2, n - a - 1);
  const auto state_of = [&](Index first, Index last) {
    return c.evaluate(laws::take_rows(plain, "n", range(first, last)));
  };
  const Outcome whole = c.evaluate(plain), x = state_of(0, a), y = state_of(a, b), z = state_of(b, n),
                yz = state_of(a, n), xy = state_of(0, b);
  Problem with_identity = plain;
  for (const auto& input : plain.spec->inputs)
    if (input.state) {
      const auto shape = shape_of(input, plain.sizes);
      with_identity.inputs[input.name] = {shape, std::vector<double>(static_cast<std::size_t>(count(shape)))};
    }
  const Outcome identity = c.evaluate(with_identity);
  if (!whole.values.count("S") || !whole.values.count("Z")) return Finding::not_applicable();
  for (const char* state : {"S", "Z"}) {
    const auto sum = [&](std::initializer_list<const Outcome*> parts, Array& bound) {
      Array total = whole.values.at(state);
      std::fill(total.values.begin(), total.values.end(), 0.0);
      bound = total;
      for (const Outcome* part : parts)
        for (std::size_t i = 0; i < total.values.size(); ++i) {
          total.values[i] += part->values.at(state).values[i];
          bound.values[i] += part->bounds().at(state).values[i] + 0x1p-50 * std::abs(total.values[i]);
        }
      return total;
    };
    Array b1, b2, b3;
    const Array left = sum({&xy, &z}, b1), right = sum({&x, &yz}, b2), three = sum({&x, &y, &z}, b3);
    for (const auto& [parts, bound] : {std::pair(&left, &b1), std::pair(&right, &b2), std::pair(&three, &b3)}) {
      const auto finding = laws::same(c, state, *parts, *bound, whole.values.at(state), whole.bounds().at(state),
                                      "the sum of the parts' states");
      if (finding.kind == Finding::Kind::broken) return finding;
    }
    const auto finding = laws::same(c, state, identity.values.at(state), identity.bounds().at(state),
                                    whole.values.at(state), whole.bounds().at(state), "zero as initial state");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Folding linear.causal_step over the tokens, over enclosures, gives the same outputs and states.
inline Finding equals_folded_steps(const Context& c) {
  if (c.problem.parameters.count("eps")) return Finding::not_applicable();
  const Outcome whole = c.evaluate(c.problem);
  const Index n = c.problem.sizes.at("n"), m = c.problem.sizes.at("m");
  Problem step{&find_spec("linear.causal_step"), {{"c", c.problem.sizes.at("c")}, {"m", m}}, {}, {}};
  for (const char* name : {"zero_denominator", "features"})
    if (const auto at = c.problem.parameters.find(name); at != c.problem.parameters.end()) step.parameters.insert(*at);
  for (const auto& input : step.spec->inputs) {
    if (!input.state) continue;
    const auto shape = shape_of(input, step.sizes);
    step.inputs[input.name] = c.problem.inputs.count(input.name)
                                  ? c.problem.inputs.at(input.name)
                                  : Array{shape, std::vector<double>(static_cast<std::size_t>(count(shape)))};
  }
  Array o{{n, m}, {}}, bound = o;
  for (Index t = 0; t < n; ++t) {
    for (const char* name : {"phi_q", "phi_k", "v"}) {
      Array row = laws::take(c.problem.inputs.at(name), *c.problem.spec->input(name), "n", {t});
      row.shape.erase(row.shape.begin());
      step.inputs[name] = row;
    }
    const auto enclosure = golden::enclose(step, "update_then_read", 128);
    for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
      const double x = enclosure.middle.at("o").values[i];
      o.values.push_back(x);
      bound.values.push_back(enclosure.radius.at("o").values[i]);
    }
    for (const char* state : {"S", "Z"}) step.inputs[state] = enclosure.middle.at(state);
  }
  Array allowed = whole.bounds().at("o");
  const Array carrying = laws::carrying_allowances(c).at("o");
  for (std::size_t i = 0; i < allowed.values.size(); ++i) allowed.values[i] += carrying.values[i];
  return laws::same(c, "o", whole.values.at("o"), allowed, o, bound, "folded steps");
}

/// The problem without a carried state and with features above 0, where every row is a mean of values; nothing where
/// the problem does not allow it.
inline std::optional<Problem> averaging(const Context& c) {
  if (std::get<double>(*setting(c.problem, "eps")) != 0) return {};
  Problem problem = c.problem;
  for (const char* state : {"S", "Z"}) problem.inputs.erase(state);
  for (const char* name : {"phi_q", "phi_k"})
    for (double& x : problem.inputs.at(name).values)
      if ((x = std::abs(x)) == 0) return {};
  return problem;
}

/// The first token sees itself alone: o_0 = v_0.
inline Finding first_row(const Context& c) {
  const auto problem = averaging(c);
  if (!problem) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(*problem);
  const auto first = [&](const Array& x) { return laws::take(x, *problem->spec->output("o"), "n", {0}); };
  const Array v = laws::take(problem->inputs.at("v"), *problem->spec->input("v"), "n", {0});
  return laws::same(c, "o", first(outcome.values.at("o")), first(outcome.bounds().at("o")), v,
                    Array{v.shape, std::vector<double>(v.values.size())}, "the first token");
}

/// With features above 0 no output leaves the range of the values so far.
inline Finding convex_hull(const Context& c) {
  const auto problem = averaging(c);
  if (!problem) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(*problem);
  const auto &v = problem->inputs.at("v").values, &o = outcome.values.at("o").values,
             &bound = outcome.bounds().at("o").values;
  const auto m = static_cast<std::size_t>(problem->sizes.at("m"));
  std::vector<double> low(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(m)), high = low;
  for (std::size_t i = 0; i < o.size(); ++i) {
    low[i % m] = std::min(low[i % m], v[i]), high[i % m] = std::max(high[i % m], v[i]);
    if (!(low[i % m] - bound[i] <= o[i] && o[i] <= high[i % m] + bound[i]))
      return Finding::broken("o[" + std::to_string(i) + "] lies outside the values so far");
  }
  return {};
}

/// If all values are the same row, so is every output.
inline Finding constant_value(const Context& c) {
  auto problem = averaging(c);
  if (!problem) return Finding::not_applicable();
  Array& v = problem->inputs.at("v");
  for (Index i = 0; i < v.size(); ++i) v.values[static_cast<std::size_t>(i)] = static_cast<double>(i % v.shape[1] + 1);
  const Outcome outcome = c.evaluate(*problem);
  return laws::same(c, "o", outcome.values.at("o"), outcome.bounds().at("o"), v,
                    Array{v.shape, std::vector<double>(v.values.size())}, "constant values");
}

/// The order of keys and values before a token is nothing to it.
inline Finding past_order_is_free(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 3) return Finding::not_applicable();
  const Index i = 2 + laws::choose(c, 1, n - 2);
  auto order = range(0, n);
  std::reverse(order.begin(), order.begin() + i);
  Problem permuted = c.problem;
  for (const char* name : {"phi_k", "v"})
    permuted.inputs.at(name) = laws::take(c.problem.inputs.at(name), *c.problem.spec->input(name), "n", order);
  const Outcome plain = c.evaluate(c.problem), other = c.evaluate(permuted);
  const auto later = [&](const Array& x) { return laws::take(x, *c.problem.spec->output("o"), "n", range(i, n)); };
  return laws::same(c, "o", later(plain.values.at("o")), later(plain.bounds().at("o")), later(other.values.at("o")),
                    later(other.bounds().at("o")), "the first " + std::to_string(i) + " tokens backwards");
}

inline std::vector<laws::Property> properties() {
  return {{"any_split_into_calls", any_split_into_calls},
          {"state_is_a_monoid", state_is_a_monoid},
          {"equals_folded_steps", equals_folded_steps},
          {"first_row", first_row},
          {"convex_hull", convex_hull},
          {"constant_value", constant_value},
          {"past_order_is_free", past_order_is_free}};
}

}  // namespace attest::properties::linear::causal
