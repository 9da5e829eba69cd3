// SPDX-License-Identifier: MIT
// stop_gradient(): the value of its argument in every arithmetic, and a constant to derivatives.
#include <gtest/gtest.h>

#include "attest/golden/profile.hpp"
#include "attest/judge/faults.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/emulation.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/influence.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/vocabulary.hpp"
#include "attest/reference/witness.hpp"

namespace attest::reference {
namespace {

TEST(StopGradient, PassesTheValueAndItsErrorOn) {
  const auto same_as_its_argument = [](auto&& arithmetic, auto&& compare) {
    const Scope scope(arithmetic);
    for (const double x : {0.0, 0.3, -7.0}) {
      const Number y = exp(Number::input(x)) - 1;
      const Number z = stop_gradient(y);
      EXPECT_EQ(approximate(z), approximate(y));
      compare(arithmetic.value(z), arithmetic.value(y));
    }
  };
  const auto nothing_more = [](const auto&, const auto&) {};
  same_as_its_argument(Binary64(), nothing_more);
  same_as_its_argument(Witness(128), [](const Real& a, const Real& b) { EXPECT_EQ(a, b); });
  same_as_its_argument(Certificate(128),
                       [](const Ball& a, const Ball& b) { EXPECT_TRUE(arb_equal(a.get(), b.get())); });
  same_as_its_argument(ErrorModel(golden::wide_units()), [](const Rounding& a, const Rounding& b) {
    EXPECT_EQ(a.bound, b.bound);
    EXPECT_EQ(a.variance, b.variance);
  });
  same_as_its_argument(Emulation(judge::kernel_of(golden::profile("bf16"))), nothing_more);
}

TEST(StopGradient, CostsNothingAndKeepsInfluence) {
  Cost cost;
  {
    const Scope scope(cost);
    stop_gradient(Number::input(2));
  }
  for (const auto& [_, count] : cost.counts().by_name()) EXPECT_EQ(count, 0);
  Influence influence;
  const Scope scope(influence);
  const Number y = stop_gradient(influence.of_token(3, 5) * 2);
  EXPECT_TRUE(influence.value(y).tokens.test(5));
}

/// y = x stop_gradient(x): the derivative is x, not 2 x.
TEST(StopGradient, IsAConstantToTheTape) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Tape tape;
  const Number x = tape.variable(Number::input(3)), y = x * stop_gradient(x), alone = stop_gradient(x);
  tape.seed(y, 1);
  tape.seed(alone, 64);
  tape.differentiate();
  EXPECT_EQ(approximate(y), 9);
  EXPECT_EQ(approximate(tape.adjoint(x)), 3);
}

/// A matrix is that of its elements; x itself stays a variable.
TEST(StopGradient, OfAMatrixLeavesTheMatrixAVariable) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Tape tape;
  Matrix x(1, 2);
  x(0, 0) = tape.variable(Number::input(3)), x(0, 1) = tape.variable(Number::input(5));
  const StoppedMatrix stopped(x);
  const View<const Number, 2> held = stopped;
  tape.seed(dot(held[0], x[0]), 1);
  tape.differentiate();
  EXPECT_EQ(approximate(tape.adjoint(x(0, 0))), 3);
  EXPECT_EQ(approximate(tape.adjoint(x(0, 1))), 5);
}

/// A second evaluation that is given the numbers of the first: (f(x + h, s) - f(x - h, s)) / 2h with s = x + h held.
TEST(StopGradient, IsHeldByADifferenceQuotient) {
  Binary64 arithmetic;
  const Scope scope(arithmetic);
  Stopped stopped;
  Evaluation::current->stopped = &stopped;
  const auto f = [](double x) { return Number::input(x) * stop_gradient(Number::input(x)); };
  const Number ahead = f(3 + 0x1p-20);
  stopped.again = true;
  const double quotient = approximate(ahead - f(3 - 0x1p-20)) / 0x1p-19;
  EXPECT_EQ(quotient, 3 + 0x1p-20);
}

}  // namespace
}  // namespace attest::reference
