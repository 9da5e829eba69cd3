// SPDX-License-Identifier: MIT
// tanh and pivot in each arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/vocabulary.hpp"

namespace attest::reference {
namespace {

constexpr double kArguments[] = {0, 0x1p-30, -0.001, 0.25, -0.7, 3, 40, -1000};

/// The bound of f at x, in units of single precision.
template <class F>
double bound_of(double x, F&& f) {
  const PerChannel units{0x1p-24, 0x1p-24, 0x1p-19, 0x1p-24, 0};
  ErrorModel model(units);
  const Scope scope(model);
  return model.error(model.value(f(Number::input(x))));
}

TEST(Tanh, EveryArithmeticHasTheSameValue) {
  for (const double x : kArguments) {
    Certificate certificate(200);
    const Scope scope(certificate);
    const double value = approximate(tanh(Number::input(x))), expected = std::tanh(x);
    EXPECT_NEAR(value, expected, 4e-16 * std::abs(expected)) << x;
    const Number e = exp(2 * Number::input(-std::abs(x)));
    EXPECT_NEAR(value, std::copysign(approximate((1 - e) / (1 + e)), x), 1e-30) << x;
  }
}

TEST(Tanh, TheBoundIsRelativeWhereTheResultIsSmall) {
  const auto word = [](const Number& x) { return tanh(x); };
  const auto by_sigmoid = [](const Number& x) { return 2 * sigmoid(2 * x) - 1; };
  for (const double x : kArguments) EXPECT_LE(bound_of(x, word), 0x1p-18 * std::abs(std::tanh(x))) << x;
  EXPECT_GT(bound_of(0x1p-30, by_sigmoid), 100 * bound_of(0x1p-30, word));
}

/// An argument that is off by a unit gives a result that is off by as much as the slope says, and no more than 1.
TEST(Tanh, AnErrorOfTheArgumentIsPassedOn) {
  const auto of_rounded = [](const Number& x) { return tanh(x * x); };
  for (const double x : {0.001, 0.5, 1.5, 4.0}) {
    const double slope = 1 - std::tanh(x * x) * std::tanh(x * x), moved = slope * x * x * 0x1p-24;
    EXPECT_GE(bound_of(x, of_rounded), moved) << x;
    EXPECT_LE(bound_of(x, of_rounded), 2 * moved + 0x1p-18 * std::tanh(x * x)) << x;
  }
}

TEST(Tanh, IsDifferentiatedAndCounted) {
  for (const double x : kArguments) {
    Binary64 arithmetic;
    const Scope scope(arithmetic);
    Tape tape;
    const Number variable = tape.variable(Number::input(x));
    tape.seed(tanh(variable), 1);
    tape.differentiate();
    EXPECT_NEAR(approximate(tape.adjoint(variable)), 1 / (std::cosh(x) * std::cosh(x)), 1e-15) << x;
  }
  Cost cost;
  const Scope scope(cost);
  (void)tanh(Number::input(0.5));
  EXPECT_EQ(cost.counts().tanh, 1);
  EXPECT_EQ(cost.counts().exp, 0);
}

/// The maximum that a log-sum-exp subtracts has no derivative: its own entry's is one product, with nothing to cancel.
TEST(Pivot, HasNoDerivative) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Tape tape;
  const Number x = tape.variable(3), m = pivot(x);
  tape.seed(m + log(exp(x - m) + exp(-m)), 1);
  tape.differentiate();
  EXPECT_EQ(approximate(tape.adjoint(x)), 1 / (1 + std::exp(-3.0)));
}

}  // namespace
}  // namespace attest::reference
