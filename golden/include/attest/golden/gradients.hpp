// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/golden/agreement.hpp"
#include "attest/reference/evaluate.hpp"
#include "attest/reference/tape.hpp"

namespace attest::golden {

/// The outputs of whatever `run(bundle)` computes and, where there are cotangents, the vector-Jacobian products with
/// respect to the inputs that the equation has gradients of, recorded on a tape: "o", "gradient.q", ...
template <class Arithmetic, std::invocable<reference::Bundle&> F>
reference::Values<typename Arithmetic::Value> results_of(Arithmetic& arithmetic, const Problem& problem, F&& run,
                                                         const Arrays& cotangents,
                                                         reference::Decisions* decisions = nullptr) {
  using namespace reference;
  if (cotangents.empty()) return outputs_of(arithmetic, problem, run, decisions);
  const Spec& spec = *problem.spec;
  const Scope scope(arithmetic, decisions);
  Tape tape;
  Bundle bundle(problem, [&](const TensorDeclaration& input, Index, double x) {
    const bool differentiated =
        std::find(spec.gradient.begin(), spec.gradient.end(), input.name) != spec.gradient.end();
    return differentiated ? tape.variable(Number::input(x)) : Number::input(x);
  });
  run(bundle);
  Values<typename Arithmetic::Value> values;
  for (const auto& output : spec.outputs) {
    values[output.name] = values_of(arithmetic, bundle, output.name);
    auto cotangent = cotangents.at(output.name).values.begin();
    bundle.each_element(output.name, [&](const Number& x) {
      const double adjoint = *cotangent++;
      if (std::isfinite(approximate(x))) tape.seed(x, Number::input(adjoint));
    });
  }
  tape.differentiate();
  for (const auto& name : spec.gradient) {
    if (!problem.inputs.count(name)) continue;
    auto& gradient = values[gradient_of(name)];
    for (std::size_t i = 0; i < problem.inputs.at(name).values.size(); ++i)
      gradient.push_back(arithmetic.value(tape.adjoint(bundle.lifted(name)[i])));
  }
  return values;
}

}  // namespace attest::golden
