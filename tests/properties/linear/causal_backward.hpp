// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "properties/linear/causal_numerator_backward.hpp"

namespace attest::properties::linear::causal_backward {

using causal_numerator_backward::both_causalities;
using causal_numerator_backward::compared;
using causal_numerator_backward::Product;
using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double eps_of(const Problem& problem) { return std::get<double>(*setting(problem, "eps")); }

/// The output does not change when a query's features grow by a factor, nor when those of all keys do: the gradients
/// are orthogonal to them.
inline Finding gains_are_free(const Context& c) {
  if (eps_of(c.problem) != 0) return Finding::not_applicable();
  const Outcome outcome = c.evaluate(c.problem);
  const Array &q = c.problem.inputs.at("phi_q"), &k = c.problem.inputs.at("phi_k");
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("c"));
  for (std::size_t row = 0; row < q.values.size(); row += width) {
    const Product gain(outcome.values.at("grad_phi_q"), outcome.bounds().at("grad_phi_q"), q, row, row + width);
    if (const auto finding = compared(c, "grad_phi_q_i . phi_q_i", gain.value, gain.bound, 0, 0);
        finding.kind == Finding::Kind::broken)
      return finding;
  }
  const Product gain(outcome.values.at("grad_phi_k"), outcome.bounds().at("grad_phi_k"), k, 0, k.values.size());
  return compared(c, "<grad_phi_k, phi_k>", gain.value, gain.bound, 0, 0);
}

/// Adding a number to all values adds it to all outputs: sum_i grad_v_i = sum_i grad_o_i, where no denominator is 0.
inline Finding value_shift(const Context& c) {
  const Array &q = c.problem.inputs.at("phi_q"), &k = c.problem.inputs.at("phi_k"),
              &grad_o = c.problem.inputs.at("grad_o");
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("c")),
             m = static_cast<std::size_t>(c.problem.sizes.at("m"));
  if (eps_of(c.problem) != 0) return Finding::not_applicable();
  std::vector<double> z(width);
  for (std::size_t row = 0; row < q.values.size(); row += width) {
    double d = 0;
    for (std::size_t a = 0; a < width; ++a) z[a] += k.values[row + a], d += q.values[row + a] * z[a];
    if (d == 0) return Finding::not_applicable();
  }
  const Outcome outcome = c.evaluate(c.problem);
  const Array &grad_v = outcome.values.at("grad_v"), &bounds = outcome.bounds().at("grad_v");
  Array got{{static_cast<Index>(m)}, std::vector<double>(m)}, bound = got, expected = got, slack = got;
  for (std::size_t i = 0; i < grad_o.values.size(); ++i) {
    got.values[i % m] += grad_v.values[i];
    bound.values[i % m] += bounds.values[i] + 0x1p-44 * std::abs(grad_v.values[i]);
    expected.values[i % m] += grad_o.values[i];
    slack.values[i % m] += 0x1p-44 * std::abs(grad_o.values[i]);
  }
  return laws::same(c, "sum of grad_v", got, bound, expected, slack, "shifting all values");
}

/// o is linear in v: <grad_v, v> = <grad_o, o>, with o from linear.causal.
inline Finding linear_in_values(const Context& c) {
  Problem forward{&find_spec("linear.causal"), c.problem.sizes, c.problem.parameters, c.problem.inputs};
  forward.inputs.erase("grad_o");
  const auto o = golden::enclose(forward, "recurrent", 128);
  const Array &v = c.problem.inputs.at("v"), &grad_o = c.problem.inputs.at("grad_o");
  const Outcome outcome = c.evaluate(c.problem);
  const Product left(outcome.values.at("grad_v"), outcome.bounds().at("grad_v"), v, 0, v.values.size());
  const Product right(o.middle.at("o"), o.radius.at("o"), grad_o, 0, grad_o.values.size());
  return compared(c, "<grad_v, v> against <grad_o, o>", left.value, left.bound, right.value, right.bound);
}

inline std::vector<laws::Property> properties() {
  return {{"gains_are_free", gains_are_free},
          {"value_shift", value_shift},
          {"linear_in_values", linear_in_values},
          {"both_causalities", both_causalities}};
}

}  // namespace attest::properties::linear::causal_backward
