// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/judge/laws.hpp"

namespace attest::properties::infty::memory_update {

using laws::Context;
using laws::Finding;
using laws::Outcome;

/// As many samples as new tokens, and half of [0, 1] for each.
inline Finding literal_consistency(const Context& c) {
  if (!c.problem.inputs.count("coefficients")) return Finding::not_applicable();
  Problem contracted = c.problem;
  const Index l = contracted.sizes.at("l");
  contracted.sizes["m"] = l;
  contracted.inputs["u"] = golden::draw_array("uniform 0 1", {l}, c.exact, c.seed, "property.u");
  contracted.parameters["tau"] = 0.5;
  contracted.parameters["refit"] = std::string("contracted");
  Problem uniform = contracted;
  uniform.parameters["refit"] = std::string("uniform");
  const Outcome a = c.evaluate(contracted), b = c.evaluate(uniform);
  return laws::same(c, "coefficients", a.values.at("coefficients"), a.bounds().at("coefficients"),
                    b.values.at("coefficients"), b.bounds().at("coefficients"), "uniform and contracted positions");
}

/// Where positions of the fit do not depend on tau, nothing does.
inline Finding tau_free_samples(const Context& c) {
  Problem little = c.problem;
  little.parameters["refit"] = std::string("uniform");
  Problem much = little;
  little.parameters["tau"] = 0.25;
  much.parameters["tau"] = 0.75;
  const Outcome a = c.evaluate(little), b = c.evaluate(much);
  return laws::same(c, "coefficients", a.values.at("coefficients"), a.bounds().at("coefficients"),
                    b.values.at("coefficients"), b.bounds().at("coefficients"), "another tau");
}

inline Finding zero(const Context& c) {
  Problem problem = c.problem;
  for (const char* name : {"coefficients", "x_new"})
    if (const auto at = problem.inputs.find(name); at != problem.inputs.end())
      std::fill(at->second.values.begin(), at->second.values.end(), 0.0);
  const Outcome outcome = c.evaluate(problem);
  for (const double x : outcome.values.at("coefficients").values)
    if (x != 0) return Finding::broken("zeros become " + std::to_string(x));
  return {};
}

/// The state is carried through updates with new tokens each; it may be off by what each update may err by, times the
/// norm of all updates that follow as one map.
inline Finding carried_through(const Context& c, int updates) {
  const Index d = c.problem.sizes.at("d"), b = c.problem.sizes.at("b");
  const auto& form = golden::first_modelled_form(c.problem).name;
  // The map of the past: what becomes of unit vectors.
  Problem unit = c.problem;
  unit.sizes["d"] = b;
  unit.inputs["coefficients"] = {{b, b}, std::vector<double>(static_cast<std::size_t>(b * b))};
  for (Index k = 0; k < b; ++k) unit.inputs["coefficients"].values[static_cast<std::size_t>(k * b + k)] = 1;
  const Index l = unit.sizes.at("l");
  unit.inputs["x_new"] = {{l, b}, std::vector<double>(static_cast<std::size_t>(l * b))};
  const auto map = golden::evaluate_in_double(unit, form, {}).at("coefficients").values;
  const auto at = [&](Index i, Index j) { return static_cast<std::size_t>(i * b + j); };
  // norms[j]: of the j-th power, at most its length as a vector
  std::vector<double> power = unit.inputs["coefficients"].values, norms;
  for (int j = 0; j < updates; ++j) {
    double squares = 0;
    for (const double x : power) squares += x * x;
    norms.push_back(j == 0 ? 1 : std::sqrt(squares));
    std::vector<double> next(power.size());
    for (Index i = 0; i < b; ++i)
      for (Index k = 0; k < b; ++k)
        for (Index t = 0; t < b; ++t) next[at(i, t)] += power[at(i, k)] * map[at(k, t)];
    power = next;
  }
  Problem judged = c.problem;
  judged.inputs["coefficients"] = golden::draw_array("integers -2 2", {d, b}, c.exact, c.seed, "property.state");
  Problem exact = judged;
  std::vector<double> allowed(static_cast<std::size_t>(d));
  const auto row_norm = [&](const std::vector<double>& x, Index a) {
    double squares = 0;
    for (Index k = 0; k < b; ++k) squares += x[at(a, k)] * x[at(a, k)];
    return std::sqrt(squares);
  };
  for (int j = 0; j < updates; ++j) {
    judged.inputs["x_new"] = exact.inputs["x_new"] = laws::redrawn(c, "x_new", static_cast<std::uint64_t>(j) + 1);
    const Outcome outcome = c.evaluate(judged);
    const auto truth = golden::enclose(exact, form, 128).middle.at("coefficients");
    const auto& got = outcome.values.at("coefficients");
    if (got.shape != truth.shape) return Finding::broken("the shape of the state changes");
    for (Index a = 0; a < d; ++a)
      allowed[static_cast<std::size_t>(a)] +=
          norms[static_cast<std::size_t>(updates - 1 - j)] *
          (row_norm(outcome.bounds().at("coefficients").values, a) + 0x1p-50 * row_norm(truth.values, a));
    judged.inputs["coefficients"] = got;
    exact.inputs["coefficients"] = truth;
  }
  for (Index a = 0; a < d; ++a) {
    std::vector<double> error(static_cast<std::size_t>(d * b));
    for (Index k = 0; k < b; ++k)
      error[at(a, k)] =
          judged.inputs.at("coefficients").values[at(a, k)] - exact.inputs.at("coefficients").values[at(a, k)];
    if (!(row_norm(error, a) <= allowed[static_cast<std::size_t>(a)]))
      return Finding::broken("after " + std::to_string(updates) + " updates row " + std::to_string(a) +
                             " of the state is off by " + std::to_string(row_norm(error, a)) + ", allowed " +
                             std::to_string(allowed[static_cast<std::size_t>(a)]));
  }
  return {};
}

inline Finding many_updates(const Context& c) { return carried_through(c, 6); }

inline std::vector<laws::Property> properties() {
  return {{"literal_consistency", literal_consistency},
          {"tau_free_samples", tau_free_samples},
          {"zero", zero},
          {"many_updates", many_updates}};
}

}  // namespace attest::properties::infty::memory_update
