// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::causal_backward {

using laws::Context;
using laws::Finding;
using laws::Outcome;

inline double eps_of(const Problem& problem) { return std::get<double>(*setting(problem, "eps")); }

/// sum of x_i y_i over elements first .. last - 1, and how far it may be off when x_i may be off by its bound.
struct Product {
  double value = 0, bound = 0;

  Product(const Array& x, const Array& x_bound, const Array& y, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const double term = x.values[i] * y.values[i];
      value += term;
      bound += std::abs(x_bound.values[i] * y.values[i]) + 0x1p-44 * std::abs(term);
    }
  }
};

inline Finding compared(const Context& c, const std::string& what, double a, double a_bound, double b, double b_bound) {
  return laws::same(c, what, {{1}, {a}}, {{1}, {a_bound}}, {{1}, {b}}, {{1}, {b_bound}}, what);
}

/// The output does not change when a query's features grow by a factor, nor when those of all keys do: the gradients are
/// orthogonal to them.
inline Finding gains_are_free(const Context& c) {
  if (eps_of(c.problem) != 0) return Finding::vacuous();
  const Outcome outcome = c.evaluate(c.problem);
  const Array &q = c.problem.inputs.at("phi_q"), &k = c.problem.inputs.at("phi_k");
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("c"));
  for (std::size_t row = 0; row < q.values.size(); row += width) {
    const Product gain(outcome.values.at("grad_phi_q"), outcome.bounds().at("grad_phi_q"), q, row, row + width);
    if (const auto finding = compared(c, "grad_phi_q_i . phi_q_i", gain.value, gain.bound, 0, 0); finding.kind == Finding::Kind::broken) return finding;
  }
  const Product gain(outcome.values.at("grad_phi_k"), outcome.bounds().at("grad_phi_k"), k, 0, k.values.size());
  return compared(c, "<grad_phi_k, phi_k>", gain.value, gain.bound, 0, 0);
}

/// Adding a number to all values adds it to all outputs: sum_i grad_v_i = sum_i grad_o_i, where no denominator is 0.
inline Finding value_shift(const Context& c) {
  const Array &q = c.problem.inputs.at("phi_q"), &k = c.problem.inputs.at("phi_k"), &grad_o = c.problem.inputs.at("grad_o");
  const auto width = static_cast<std::size_t>(c.problem.sizes.at("c")), m = static_cast<std::size_t>(c.problem.sizes.at("m"));
  if (eps_of(c.problem) != 0) return Finding::vacuous();
  std::vector<double> z(width);
  for (std::size_t row = 0; row < q.values.size(); row += width) {
    double d = 0;
    for (std::size_t a = 0; a < width; ++a) z[a] += k.values[row + a], d += q.values[row + a] * z[a];
    if (d == 0) return Finding::vacuous();
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

/// What tokens from t on hold reaches no earlier query's gradient; what the queries and cotangents before t hold reaches no
/// later key's or value's.
inline Finding both_causalities(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 2) return Finding::vacuous();
  const Index t = 1 + laws::choose(c, 1, n - 1);
  Problem later = c.problem, earlier = c.problem;
  for (auto& [name, array] : later.inputs) {
    const Array fresh = laws::redrawn(c, name, 2);
    const Index width = array.size() / n;
    for (Index i = 0; i < array.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i >= t * width) array.values[at] = fresh.values[at];
      else if (name == "phi_q" || name == "grad_o") earlier.inputs.at(name).values[at] = fresh.values[at];
    }
  }
  const Outcome plain = c.evaluate(c.problem), changed_later = c.evaluate(later), changed_earlier = c.evaluate(earlier);
  const auto expect = [&](const Outcome& other, const char* output, Index first, Index last) {
    const Index width = plain.values.at(output).size() / n;
    const auto rows = [&](const Array& x) { return Array{{last - first, width}, {x.values.begin() + first * width, x.values.begin() + last * width}}; };
    return laws::same(c, output, rows(plain.values.at(output)), rows(plain.bounds().at(output)), rows(other.values.at(output)),
                      rows(other.bounds().at(output)), "changing the other side of token " + std::to_string(t));
  };
  for (const auto& finding : {expect(changed_later, "grad_phi_q", 0, t), expect(changed_earlier, "grad_phi_k", t, n), expect(changed_earlier, "grad_v", t, n)})
    if (finding.kind == Finding::Kind::broken) return finding;
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"gains are free", gains_are_free}, {"value shift", value_shift}, {"linear in values", linear_in_values}, {"both causalities", both_causalities}};
}

}  // namespace attest::properties::linear::causal_backward
