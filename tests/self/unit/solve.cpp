// SPDX-License-Identifier: MIT
// Systems of linear equations and the complementary error function, in every arithmetic.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "attest/golden/profile.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/cost.hpp"
#include "attest/reference/emulation.hpp"
#include "attest/reference/error_model.hpp"
#include "attest/reference/influence.hpp"
#include "attest/reference/infty/ridge_fit.hpp"
#include "attest/reference/tape.hpp"
#include "attest/reference/witness.hpp"

namespace attest::reference {
namespace {

using Doubles = Eigen::MatrixXd;
using Singles = Eigen::MatrixXf;

/// Functions that overlap, at equidistant points: rows are functions. Their products are badly conditioned.
Doubles overlapping(Index functions, Index points) {
  Doubles psi(functions, points);
  for (Index k = 0; k < functions; ++k)
    for (Index t = 0; t < points; ++t) {
      const double z = (static_cast<double>(t) / static_cast<double>(points) -
                        static_cast<double>(k) / static_cast<double>(functions - 1)) /
                       0.15;
      psi(k, t) = static_cast<double>(static_cast<float>(std::exp(-z * z / 2)));
    }
  return psi;
}

Doubles drawn(Index rows, Index columns, unsigned seed) {
  std::mt19937 engine(seed);
  Doubles x(rows, columns);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) x(i, j) = static_cast<double>(engine() % 2001) / 1000.0 - 1;
  return x.cast<float>().cast<double>();
}

Matrix numbers(const Doubles& x) {
  Matrix y(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = Number::input(x(i, j));
  return y;
}

/// (psi psi^T + penalty I)^-1 psi x, the fit of x
Matrix fit(const Doubles& psi, double penalty, const Doubles& x) {
  return infty::ridge_fit::fitted(numbers(psi), parameter(penalty), numbers(x));
}

template <class A>
std::vector<typename A::Value> values(A&& arithmetic, const Doubles& psi, double penalty, const Doubles& x) {
  const Scope scope(arithmetic);
  const Matrix solution = fit(psi, penalty, x);
  std::vector<typename std::remove_reference_t<A>::Value> all;
  for (Index i = 0; i < solution.extent(0); ++i)
    for (Index j = 0; j < solution.extent(1); ++j) all.push_back(arithmetic.value(solution(i, j)));
  return all;
}

TEST(Solve, EnclosuresHoldWhatAnotherLibraryComputes) {
  const Doubles psi = overlapping(9, 20), x = drawn(20, 3, 1);
  const auto balls = values(Certificate(160), psi, 0.01, x);
  const auto reals = values(Witness(600), psi, 0.01, x);
  for (std::size_t i = 0; i < balls.size(); ++i) {
    arf_t real;
    arf_init(real);
    arf_set_mpfr(real, reals[i].backend().data());
    EXPECT_TRUE(arb_contains_arf(balls[i].get(), real));
    arf_clear(real);
    EXPECT_LT(mag_get_d(arb_radref(balls[i].get())), 1e-25);
  }
}

TEST(Solve, AMatrixThatMayBeSingularIsUndecided) {
  const Doubles psi = overlapping(6, 4), x = drawn(4, 1, 2);
  EXPECT_THROW(values(Certificate(200), psi, 0.0, x), Undecided);
  EXPECT_NO_THROW(values(Certificate(200), psi, 0.5, x));
}

TEST(Solve, Binary64IsNear) {
  const Doubles psi = overlapping(5, 16), x = drawn(16, 2, 3);
  const auto got = values(Binary64(), psi, 0.5, x);
  const auto balls = values(Certificate(160), psi, 0.5, x);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], approximate(balls[i]), 1e-12);
}

TEST(Solve, CostsAreThoseOfCholesky) {
  Cost cost;
  const Scope scope(cost);
  const Index n = 5, columns = 3;
  const Doubles psi = overlapping(n, 12);
  Matrix a = numbers(psi * psi.transpose() + Doubles::Identity(n, n));
  solve(a, numbers(drawn(n, columns, 4)));
  EXPECT_EQ(cost.counts().sqrt, n);
  EXPECT_EQ(cost.counts().mul, n * (n - 1) * (n + 1) / 6 + columns * n * (n - 1));
  EXPECT_EQ(cost.counts().div, n * (n - 1) / 2 + columns * 2 * n);
}

TEST(Solve, EveryUnknownDependsOnEverything) {
  Influence influence;
  const Scope scope(influence);
  constexpr Index n = 4;
  Matrix a(n, n), b(n, 1);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) a(i, j) = i == j ? 8 : 1;
    b(i, 0) = influence.of_token(1, static_cast<std::size_t>(i));
  }
  a(0, 0) = influence.of_token(8, n);
  const Matrix x = solve(a, b);
  for (Index i = 0; i < n; ++i) EXPECT_EQ(influence.value(x(i, 0)).tokens.count(), static_cast<std::size_t>(n + 1));
}

/// The sum of all unknowns, as a function of one entry of psi or x moved by h.
double sum_of_fit(Doubles psi, Doubles x, Index i, Index j, bool of_psi, double h) {
  (of_psi ? psi : x)(i, j) += h;
  Certificate certificate(300);
  const Scope scope(certificate);
  const Matrix solution = fit(psi, 0.5, x);
  return approximate(sum(solution.extent(0) * solution.extent(1),
                         [&](Index e) { return solution(e / solution.extent(1), e % solution.extent(1)); }));
}

TEST(Solve, GradientsAgreeWithDifferenceQuotients) {
  const Doubles psi = overlapping(4, 7), x = drawn(7, 2, 5);
  Certificate certificate(300);
  const Scope scope(certificate);
  Tape tape;
  const Matrix p = tape.variables(numbers(psi)), tokens = tape.variables(numbers(x));
  Matrix a(4, 4), right(4, 2);
  for (Index k = 0; k < 4; ++k) {
    for (Index j = 0; j < 4; ++j) a(k, j) = k == j ? dot(p[k], p[j], Number(0.5)) : dot(p[k], p[j]);
    for (Index c = 0; c < 2; ++c) right(k, c) = dot(p[k], tokens.column(c));
  }
  const Matrix solution = solve(a, right);
  for (Index k = 0; k < 4; ++k)
    for (Index c = 0; c < 2; ++c) tape.seed(solution(k, c), Number(1));
  tape.differentiate();
  constexpr double h = 0x1p-20;
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 7; ++j) {
      const double quotient = (sum_of_fit(psi, x, i, j, true, h) - sum_of_fit(psi, x, i, j, true, -h)) / (2 * h);
      EXPECT_NEAR(approximate(tape.adjoint(p(i, j))), quotient, 1e-8 * (1 + std::abs(quotient)));
    }
  for (Index i = 0; i < 7; ++i)
    for (Index j = 0; j < 2; ++j) {
      const double quotient = (sum_of_fit(psi, x, i, j, false, h) - sum_of_fit(psi, x, i, j, false, -h)) / (2 * h);
      EXPECT_NEAR(approximate(tape.adjoint(tokens(i, j))), quotient, 1e-8 * (1 + std::abs(quotient)));
    }
}

/// The largest error of a computed fit over its bound in binary32.
double worst(const Singles& got, const Doubles& psi, double penalty, const Doubles& x) {
  const auto& units = golden::profile("f32").units;
  const auto model = values(ErrorModel(golden::narrow_units()), psi, penalty, x);
  const auto truth = values(Certificate(300), psi, penalty, x);
  double most = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    double bound = 0;
    for (std::size_t c = 0; c < kChannels; ++c) bound += model[i].bound[c] * units[c];
    EXPECT_TRUE(std::isfinite(bound));
    const auto row = static_cast<Index>(i) / x.cols(), column = static_cast<Index>(i) % x.cols();
    most = std::max(most, std::abs(static_cast<double>(got(row, column)) - approximate(truth[i])) / bound);
  }
  return most;
}

struct Solvers {
  Solvers(const Doubles& psi, double penalty, const Doubles& x) {
    const Singles p = psi.cast<float>(), tokens = x.cast<float>();
    const auto lambda = static_cast<float>(penalty);
    const Index b = p.rows(), l = p.cols();
    Singles a = p * p.transpose();
    a.diagonal().array() += lambda;
    by_cholesky = a.llt().solve(p * tokens);
    by_inverse = a.inverse() * (p * tokens);
    Singles tall = Singles::Zero(l + b, b), right = Singles::Zero(l + b, tokens.cols());
    tall.topRows(l) = p.transpose();
    tall.bottomRows(b) = std::sqrt(lambda) * Singles::Identity(b, b);
    right.topRows(l) = tokens;
    by_qr = tall.householderQr().solve(right);
    const Eigen::JacobiSVD<Singles> svd(p.transpose(), Eigen::ComputeThinU | Eigen::ComputeThinV);
    const auto s = svd.singularValues().array();
    by_svd = svd.matrixV() * (s / (s * s + lambda)).matrix().asDiagonal() * (svd.matrixU().transpose() * tokens);
  }
  Singles by_cholesky, by_inverse, by_qr, by_svd;
};

TEST(Solve, StableMethodsLieWithinOneBoundAndAMissingPenaltyDoesNot) {
  for (const auto& [functions, points, penalty] :
       {std::tuple(6, 30, 0.05), std::tuple(12, 60, 0.01), std::tuple(16, 48, 0.01)}) {
    const Doubles psi = overlapping(functions, points), x = drawn(points, 4, static_cast<unsigned>(functions));
    const auto p = static_cast<double>(static_cast<float>(penalty));
    const Eigen::VectorXd eigenvalues = (psi * psi.transpose()).selfadjointView<Eigen::Lower>().eigenvalues();
    const double condition = (eigenvalues.maxCoeff() + p) / (eigenvalues.minCoeff() + p);
    EXPECT_GT(condition, 60);
    const Solvers solvers(psi, p, x);
    EXPECT_LT(worst(solvers.by_cholesky, psi, p, x), 1) << condition;
    EXPECT_LT(worst(solvers.by_qr, psi, p, x), 1) << condition;
    EXPECT_LT(worst(solvers.by_svd, psi, p, x), 1) << condition;
    const Solvers wrong(psi, p * p, x), doubled(psi, 2 * p, x);
    EXPECT_GT(worst(wrong.by_svd, psi, p, x), 1) << condition;
    EXPECT_GT(worst(doubled.by_svd, psi, p, x), 1) << condition;
    EXPECT_GT(worst(Solvers(psi, 0, x).by_svd, psi, p, x), 1) << condition;
  }
}

TEST(Solve, OrthogonalMethodsLieWithinTheBoundWhereAProjectionIsSmall) {
  for (unsigned seed = 1; seed <= 200; ++seed)
    for (const auto& [functions, points, factor] : {std::tuple(1, 2, 4096.0), std::tuple(3, 5, 1.0)}) {
      const Doubles psi = drawn(functions, points, seed), x = factor * drawn(points, 20, 1000 + seed);
      const Solvers solvers(psi, 0.5, x);
      EXPECT_LT(worst(solvers.by_cholesky, psi, 0.5, x), 1) << seed;
      EXPECT_LT(worst(solvers.by_qr, psi, 0.5, x), 1) << seed;
      EXPECT_LT(worst(solvers.by_svd, psi, 0.5, x), 1) << seed;
    }
}

TEST(Solve, EmulatedKernelsInEveryOrderLieWithinTheBound) {
  const Doubles psi = overlapping(8, 24), x = drawn(24, 3, 7);
  for (const auto& [name, order] : kOrders) {
    Kernel kernel;
    kernel.single = true;
    kernel.order = order;
    const auto got = values(Emulation(kernel), psi, 0.125, x);
    Singles matrix(8, 3);
    for (std::size_t i = 0; i < got.size(); ++i)
      matrix(static_cast<Index>(i) / 3, static_cast<Index>(i) % 3) = static_cast<float>(got[i]);
    EXPECT_LT(worst(matrix, psi, 0.125, x), 1) << name;
  }
}

// --- log1p
// -------------------------------------------------------------------------------------------------------------------

TEST(Log1p, ASmallArgumentLosesNothing) {
  for (const double x : {-0.75, -0x1p-40, 0x1p-60, 0.5, 1e6}) {
    const auto in = [&](auto&& arithmetic) {
      const Scope scope(arithmetic);
      return arithmetic.value(log1p(Number::input(x)));
    };
    const double value = approximate(in(Certificate(160)));
    EXPECT_NEAR(static_cast<double>(in(Witness(300))) / value, 1, 1e-15) << x;
    EXPECT_NEAR(in(Binary64()) / value, 1, 1e-15) << x;
    EXPECT_EQ(in(ErrorModel(golden::narrow_units())).value, value) << x;
    Certificate certificate(160);
    const Scope scope(certificate);
    Tape tape;
    const Number variable = tape.variable(Number::input(x)), y = log1p(variable);
    tape.seed(y, Number(1));
    tape.differentiate();
    EXPECT_NEAR(approximate(tape.adjoint(variable)), 1 / (1 + x), 1e-15 / (1 + x)) << x;
  }
}

// --- erfc
// --------------------------------------------------------------------------------------------------------------------

TEST(Erfc, EveryArithmeticHasIt) {
  for (const double x : {-30.0, -2.5, -0.5, 0.0, 0x1p-30, 0.75, 3.0, 9.0, 26.0}) {
    const auto in = [&](auto&& arithmetic) {
      const Scope scope(arithmetic);
      return arithmetic.value(erfc(Number::input(x)));
    };
    const Ball ball = in(Certificate(120));
    const Real real = in(Witness(400));
    arf_t exact;
    arf_init(exact);
    arf_set_mpfr(exact, real.backend().data());
    EXPECT_TRUE(arb_contains_arf(ball.get(), exact)) << x;
    arf_clear(exact);
    const double value = approximate(ball);
    EXPECT_NEAR(in(Binary64()) / value, 1, 1e-14) << x;
    const Rounding model = in(ErrorModel(golden::narrow_units()));
    EXPECT_EQ(model.value, value) << x;
    const auto& units = golden::profile("f32").units;
    double bound = 0;
    for (std::size_t c = 0; c < kChannels; ++c) bound += model.bound[c] * units[c];
    EXPECT_LE(std::abs(static_cast<double>(std::erfc(static_cast<float>(x))) - value), bound) << x;
    EXPECT_LE(bound, 4e-4 * value + 0x1p-120) << x;
    Cost cost;
    const Scope scope(cost);
    erfc(Number::input(x));
    EXPECT_EQ(cost.counts().erfc, 1);
  }
}

TEST(Erfc, ItsErrorFollowsTheSteepestSlopeOfTheArgument) {
  ErrorModel model(golden::narrow_units());
  const Scope scope(model);
  for (const double x : {-3.0, 0.5, 4.0}) {
    const Number argument = Number::input(x) / Number::input(3);  // one with an error
    const Rounding &a = model.value(argument), r = model.value(erfc(argument));
    const double moved = std::erfc(std::abs(a.value) - model.error(a)) - std::erfc(std::abs(a.value));
    EXPECT_GE(model.error(r), moved);
  }
}

TEST(Erfc, ItsDerivativeIsTheGaussian) {
  Certificate certificate(160);
  const Scope scope(certificate);
  for (const double x : {-1.5, 0.0, 0.25, 2.0}) {
    Tape tape;
    const Number variable = tape.variable(Number::input(x)), y = erfc(variable);
    tape.seed(y, Number(1));
    tape.differentiate();
    EXPECT_NEAR(approximate(tape.adjoint(variable)), -2 / std::sqrt(M_PI) * std::exp(-x * x), 1e-15);
  }
}

// --- first_above
// --------------------------------------------------------------------------------------------------------------

TEST(FirstAbove, TheFirstElementThatExceedsIsFoundAndItsGapIsLogged) {
  Certificate certificate(128);
  Decisions log;
  const Scope scope(certificate, &log);
  const auto ascending = tabulate(4, [](Index i) { return rational(i + 1, 4); });
  EXPECT_EQ(first_above(rational(3, 10), ascending), 1);
  EXPECT_EQ(first_above(rational(1, 10), ascending), 0);
  EXPECT_EQ(first_above(rational(9, 10), ascending), 3);
  EXPECT_EQ(first_above(Number(2), ascending), 3);
  ASSERT_EQ(log.margin.size(), 4u);
  EXPECT_NEAR(log.margin[0], 0.05, 1e-9);
  EXPECT_NEAR(log.margin[1], 0.15, 1e-9);
  EXPECT_NEAR(log.margin[2], 0.15, 1e-9);
}

TEST(FirstAbove, TheOtherBranchIsTheNeighbourAcrossTheNearerEnd) {
  Certificate certificate(128);
  Decisions log;
  const auto found = [&] {
    const Scope scope(certificate, &log);
    const auto ascending = tabulate(4, [](Index i) { return rational(i + 1, 4); });
    return std::pair(first_above(rational(26, 100), ascending), first_above(rational(49, 100), ascending));
  };
  EXPECT_EQ(found(), std::pair(Index{1}, Index{1}));
  ASSERT_EQ(log.others.size(), 2u);
  const auto others = log.others;
  log = {};
  log.instead = {others[0].at(0), others[1].at(0)};
  EXPECT_EQ(found(), std::pair(Index{0}, Index{2}));
}

TEST(FirstAbove, ATieThatEnclosuresCannotSettleIsUndecided) {
  Certificate certificate(128);
  const Scope scope(certificate);
  const auto ascending = tabulate(3, [](Index i) { return rational(i + 1, 3); });
  EXPECT_THROW(first_above(rational(2, 6), ascending), Undecided);
}

}  // namespace
}  // namespace attest::reference
