// SPDX-License-Identifier: MIT
#pragma once

#include "properties/attention/scaled_dot_product.hpp"

namespace attest::properties::attention::scaled_dot_product_backward {

using laws::Context;
using laws::Finding;
using laws::Outcome;
using scaled_dot_product::sees;

/// A number, and how far it may be off.
struct Estimate {
  double value = 0, error = 0;

  void add(double x, double bound) { value += x, error += bound + 0x1p-46 * std::abs(x); }
};

inline Finding close(const Context& c, const std::string& name, const Estimate& a, const Estimate& b,
                     const std::string& what) {
  return laws::same(c, name, {{1}, {a.value}}, {{1}, {a.error}}, {{1}, {b.value}}, {{1}, {b.error}}, what);
}

/// sum_t x_t y_t, x an output and y exact.
inline Estimate product(const Outcome& outcome, const std::string& name, const Array& y) {
  Estimate result;
  const auto &x = outcome.values.at(name).values, &bound = outcome.bounds().at(name).values;
  for (std::size_t t = 0; t < x.size(); ++t)
    result.add(x[t] * y.values[t], y.values[t] == 0 ? 0 : bound[t] * std::abs(y.values[t]));
  return result;
}

/// The equation that is differentiated.
inline Problem forward(const Problem& problem) {
  Problem result{&find_spec("attention.scaled_dot_product"), problem.sizes, problem.parameters, problem.inputs};
  result.inputs.erase("grad_o");
  return result;
}

/// Every row of the gradient of the logits sums to 0.
inline Finding dl_row_sum(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const auto grad_l = outcome.values.find("grad_bias");
  if (grad_l == outcome.values.end()) return Finding::not_applicable();
  const auto s = static_cast<std::size_t>(c.problem.sizes.at("s"));
  for (std::size_t row = 0; row < grad_l->second.values.size(); row += s) {
    Estimate total;
    for (std::size_t t = row; t < row + s; ++t)
      total.add(grad_l->second.values[t], outcome.bounds().at("grad_bias").values[t]);
    const auto finding = close(c, "sum of grad_bias", total, {}, "a row");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Column e of an output, summed over the keys.
inline Estimate over_keys(const Outcome& outcome, const std::string& name, std::size_t e) {
  Estimate total;
  const Array& x = outcome.values.at(name);
  for (std::size_t t = e; t < x.values.size(); t += static_cast<std::size_t>(x.shape[1]))
    total.add(x.values[t], outcome.bounds().at(name).values[t]);
  return total;
}

/// Moving all keys by one vector changes nothing, so their gradients sum to 0.
inline Finding dk_column_sum(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  for (Index a = 0; a < c.problem.sizes.at("d"); ++a) {
    const auto finding =
        close(c, "sum of grad_k", over_keys(outcome, "grad_k", static_cast<std::size_t>(a)), {}, "a column");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// The gradients of the values sum to those of the outputs of queries that see something.
inline Finding dv_column_sum(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  const Index n = c.problem.sizes.at("n"), s = c.problem.sizes.at("s"), m = c.problem.sizes.at("m");
  for (Index e = 0; e < m; ++e) {
    Estimate expected;
    for (Index i = 0; i < n; ++i) {
      bool some = false;
      for (Index j = 0; j < s; ++j) some = some || sees(c.problem, i, j);
      if (some) expected.add(c.problem.inputs.at("grad_o").values[static_cast<std::size_t>(i * m + e)], 0);
    }
    const auto finding =
        close(c, "sum of grad_v", over_keys(outcome, "grad_v", static_cast<std::size_t>(e)), expected, "a column");
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// grad_q . q = grad_k . k: (c q, k / c) has the same products.
inline Finding euler_qk(const Context& c) {
  const Outcome outcome = c.evaluate(c.problem);
  return close(c, "grad_q . q", product(outcome, "grad_q", c.problem.inputs.at("q")),
               product(outcome, "grad_k", c.problem.inputs.at("k")), "grad_k . k");
}

/// grad_v . v = grad_o . o: the output is linear in the values.
inline Finding euler_v(const Context& c) {
  const auto output = golden::enclose(forward(c.problem), "max_shift", 128);
  Estimate expected;
  const auto& grad_o = c.problem.inputs.at("grad_o").values;
  for (std::size_t t = 0; t < grad_o.size(); ++t)
    expected.add(grad_o[t] * output.middle.at("o").values[t], std::abs(grad_o[t]) * output.radius.at("o").values[t]);
  return close(c, "grad_v . v", product(c.evaluate(c.problem), "grad_v", c.problem.inputs.at("v")), expected,
               "grad_o . o");
}

/// grad_o . (f(x + h t) - f(x - h t)) / 2h for the forward equation f, extrapolated from h and h/2.
inline Estimate slope_along(const Problem& problem, const Arrays& tangents) {
  const auto& grad_o = problem.inputs.at("grad_o").values;
  const auto quotient = [&](double h) {
    Estimate slope;
    for (const double step : {h, -h}) {
      Problem moved = forward(problem);
      for (const auto& [name, tangent] : tangents)
        for (std::size_t t = 0; t < tangent.values.size(); ++t)
          moved.inputs.at(name).values[t] += step * tangent.values[t];
      const auto o = golden::enclose(moved, "max_shift", 128);
      for (std::size_t t = 0; t < grad_o.size(); ++t) slope.add(grad_o[t] * o.middle.at("o").values[t] / (2 * step), 0);
    }
    return slope;
  };
  const Estimate coarse = quotient(0x1p-12), fine = quotient(0x1p-13);
  return {fine.value + (fine.value - coarse.value) / 3,
          std::abs(fine.value - coarse.value) + coarse.error + fine.error};
}

inline Finding slope_is_gradient(const Context& c, const Arrays& tangents) {
  const Outcome outcome = c.evaluate(c.problem);
  Estimate along;
  for (const auto& [name, tangent] : tangents) {
    const Estimate share = product(outcome, "grad_" + name, tangent);
    along.value += share.value, along.error += share.error;
  }
  return close(c, "gradient . tangent", along, slope_along(c.problem, tangents), "the slope of the forward equation");
}

/// grad_o . (what a tangent does to the output) = (the gradients) . tangent, for a tangent of all inputs.
inline Finding adjoint(const Context& c) {
  Arrays tangents;
  for (const char* name : {"q", "k", "v"})
    tangents[name] = golden::draw_array("integers -2 2", c.problem.inputs.at(name).shape, c.exact, c.seed,
                                        std::string("property.") + name);
  return slope_is_gradient(c, tangents);
}

/// One entry of each gradient is the difference quotient of the forward equation.
inline Finding finite_difference(const Context& c) {
  for (const char* name : {"q", "k", "v"}) {
    Array tangent = c.problem.inputs.at(name);
    std::fill(tangent.values.begin(), tangent.values.end(), 0.0);
    tangent.values[static_cast<std::size_t>(laws::choose(c, 1, tangent.size()))] = 1;
    const auto finding = slope_is_gradient(c, {{name, tangent}});
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// In causal attention grad_k_j and grad_v_j depend on the queries i >= j only.
inline Finding reverse_causality(const Context& c) {
  const Problem plain = scaled_dot_product::causal_square(c);
  const Index n = plain.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  const Index first = 1 + laws::choose(c, 1, n - 1);
  Problem changed = plain;
  for (const char* name : {"q", "grad_o"}) {
    auto& x = changed.inputs.at(name);
    const Array fresh = golden::draw_array("normal", x.shape, c.exact, c.seed, std::string("property.") + name);
    std::copy_n(fresh.values.begin(), first * x.shape[1], x.values.begin());
  }
  const Outcome before = c.evaluate(plain), after = c.evaluate(changed);
  for (const char* name : {"grad_k", "grad_v"}) {
    const auto tail = [&](const Array& x) {
      return Array{{n - first, x.shape[1]}, {x.values.begin() + first * x.shape[1], x.values.end()}};
    };
    const auto finding =
        laws::same(c, name, tail(after.values.at(name)), tail(after.bounds().at(name)), tail(before.values.at(name)),
                   tail(before.bounds().at(name)), "other queries before key " + std::to_string(first));
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"dl_row_sum", dl_row_sum},
          {"dk_column_sum", dk_column_sum},
          {"dv_column_sum", dv_column_sum},
          {"euler_qk", euler_qk},
          {"euler_v", euler_v},
          {"adjoint", adjoint},
          {"finite_difference", finite_difference},
          {"reverse_causality", reverse_causality}};
}

}  // namespace attest::properties::attention::scaled_dot_product_backward
