// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::linear::causal_numerator_backward {

using laws::Context;
using laws::Finding;
using laws::Outcome;

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

/// The numerator is linear in each of its arguments: <grad_phi_q, phi_q> = <grad_phi_k, phi_k> = <grad_v, v> = <grad_o,
/// Vbar>.
inline Finding euler(const Context& c) {
  const Array &q = c.problem.inputs.at("phi_q"), &k = c.problem.inputs.at("phi_k"), &v = c.problem.inputs.at("v"),
              &g = c.problem.inputs.at("grad_o");
  const Index n = q.shape[0], width = q.shape[1], m = v.shape[1];
  const auto dot = [](const Array& x, const Array& y, Index i, Index j, Index columns, double& size) {
    double total = 0;
    for (Index a = 0; a < columns; ++a) {
      const double term =
          x.values[static_cast<std::size_t>(i * columns + a)] * y.values[static_cast<std::size_t>(j * columns + a)];
      total += term, size += std::abs(term);
    }
    return total;
  };
  double forward = 0, size = 0;  // sum_{j <= i} (phi_q_i . phi_k_j) (grad_o_i . v_j)
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      double p = 0, s = 0;
      forward += dot(q, k, i, j, width, p) * dot(g, v, i, j, m, s);
      size += p * s;
    }
  const Outcome outcome = c.evaluate(c.problem);
  for (const auto& [name, x] : {std::pair("grad_phi_q", &q), std::pair("grad_phi_k", &k), std::pair("grad_v", &v)}) {
    const Product product(outcome.values.at(name), outcome.bounds().at(name), *x, 0, x->values.size());
    const auto finding = compared(c, std::string("<") + name + ", its input> against <grad_o, Vbar>", product.value,
                                  product.bound, forward, 0x1p-44 * size);
    if (finding.kind == Finding::Kind::broken) return finding;
  }
  return {};
}

/// Where every query comes after every key the causal mask hides nothing: the sums run over all tokens.
inline Finding noncausal_limit(const Context& c) {
  const Index n = c.problem.sizes.at("n"), width = c.problem.sizes.at("c"), m = c.problem.sizes.at("m");
  Problem apart = c.problem;
  apart.sizes.at("n") = 2 * n;
  for (auto& [name, array] : apart.inputs) {  // keys and values, then queries and cotangents
    const bool later = name == "phi_q" || name == "grad_o";
    array.values.insert(later ? array.values.begin() : array.values.end(), array.values.size(), 0.0);
    array.shape[0] = 2 * n;
  }
  const Outcome outcome = c.evaluate(apart);
  // sum_t x_ta y_tb over all tokens, times z_i: contracted over b, or over a
  const auto expect = [&](const char* output, const char* x_name, const char* y_name, const char* z_name,
                          bool over_columns, Index first) {
    const Array &x = c.problem.inputs.at(x_name), &y = c.problem.inputs.at(y_name), &z = c.problem.inputs.at(z_name);
    const Index result = over_columns ? width : m, inner = over_columns ? m : width;
    Array expected{{n, result}, {}}, slack = expected;
    for (Index i = 0; i < n; ++i)
      for (Index r = 0; r < result; ++r) {
        double total = 0, size = 0;
        for (Index t = 0; t < n; ++t)
          for (Index s = 0; s < inner; ++s) {
            const Index a = over_columns ? r : s, b = over_columns ? s : r;
            const double term = x.values[static_cast<std::size_t>(t * width + a)] *
                                y.values[static_cast<std::size_t>(t * m + b)] *
                                z.values[static_cast<std::size_t>(i * inner + s)];
            total += term, size += std::abs(term);
          }
        expected.values.push_back(total);
        slack.values.push_back(0x1p-44 * size);
      }
    const auto rows = [&](const Array& all) {
      return Array{{n, result}, {all.values.begin() + first * result, all.values.begin() + (first + n) * result}};
    };
    return laws::same(c, output, rows(outcome.values.at(output)), rows(outcome.bounds().at(output)), expected, slack,
                      "all queries after all keys");
  };
  for (const auto& finding :
       {expect("grad_phi_q", "phi_k", "v", "grad_o", true, n), expect("grad_phi_k", "phi_q", "grad_o", "v", true, 0),
        expect("grad_v", "phi_q", "grad_o", "phi_k", false, 0)})
    if (finding.kind == Finding::Kind::broken) return finding;
  return {};
}

/// The gradient of a query before t depends on no token from t on; that of a key or value from t on depends on no query
/// and no cotangent before t.
inline Finding both_causalities(const Context& c) {
  const Index n = c.problem.sizes.at("n");
  if (n < 2) return Finding::not_applicable();
  const Index t = 1 + laws::choose(c, 1, n - 1);
  Problem later = c.problem, earlier = c.problem;
  for (auto& [name, array] : later.inputs) {
    const Array fresh = laws::redrawn(c, name, 2);
    const Index width = array.size() / n;
    for (Index i = 0; i < array.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i >= t * width)
        array.values[at] = fresh.values[at];
      else if (name == "phi_q" || name == "grad_o")
        earlier.inputs.at(name).values[at] = fresh.values[at];
    }
  }
  const Outcome plain = c.evaluate(c.problem), changed_later = c.evaluate(later), changed_earlier = c.evaluate(earlier);
  const auto expect = [&](const Outcome& other, const char* output, Index first, Index last) {
    const Index width = plain.values.at(output).size() / n;
    const auto rows = [&](const Array& x) {
      return Array{{last - first, width}, {x.values.begin() + first * width, x.values.begin() + last * width}};
    };
    return laws::same(c, output, rows(plain.values.at(output)), rows(plain.bounds().at(output)),
                      rows(other.values.at(output)), rows(other.bounds().at(output)),
                      "changing the other side of token " + std::to_string(t));
  };
  for (const auto& finding : {expect(changed_later, "grad_phi_q", 0, t), expect(changed_earlier, "grad_phi_k", t, n),
                              expect(changed_earlier, "grad_v", t, n)})
    if (finding.kind == Finding::Kind::broken) return finding;
  return {};
}

inline std::vector<laws::Property> properties() {
  return {{"euler", euler}, {"noncausal_limit", noncausal_limit}, {"both_causalities", both_causalities}};
}

}  // namespace attest::properties::linear::causal_numerator_backward
