// SPDX-License-Identifier: MIT
// Statements about the infinity-former that no law or property of one equation says.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "attest/golden/certify.hpp"
#include "attest/reference/binary64.hpp"
#include "attest/reference/certificate.hpp"
#include "attest/reference/vocabulary.hpp"

#if __has_include(<flint/acb_calc.h>)
#include <flint/acb_calc.h>
#else
#include <acb_calc.h>
#endif

namespace attest {
namespace {

using golden::evaluate_in_double;

/// gaussian_basis on its grid, at those positions.
std::vector<double> basis(Index functions, const std::vector<double>& widths, const std::vector<double>& t) {
  const auto n = static_cast<Index>(t.size()), w = static_cast<Index>(widths.size());
  Problem problem{&find_spec("infty.gaussian_basis"), {{"n", n}, {"b", functions}, {"w", w}}, {}, {}};
  problem.inputs["t"] = {{n}, t};
  problem.inputs["s"] = {{w}, widths};
  return evaluate_in_double(problem, "direct", {}).at("psi").values;
}

std::vector<double> grid(Index n) {
  std::vector<double> t;
  for (Index i = 0; i < n; ++i) t.push_back(static_cast<double>(i) / static_cast<double>(n - 1));
  return t;
}

TEST(Infty, ThePapersGridHasEveryCentreOncePerWidth) {
  const std::vector<double> widths{0.01, 0.05}, centres = grid(75);
  const auto psi = basis(150, widths, centres);
  for (std::size_t a = 0; a < 75; ++a)
    for (std::size_t width = 0; width < 2; ++width)
      EXPECT_NEAR(psi[(2 * a + width) * 75 + a] * widths[width] * std::sqrt(2 * std::numbers::pi), 1, 1e-10);
}

/// The largest residual of a ridge fit to a smooth signal at 200 positions.
double residual(Index functions, double penalty) {
  using namespace reference;
  const auto t = grid(200);
  const auto psi = basis(functions, {2.0 / static_cast<double>(functions)}, t);
  const auto signal = [&](std::size_t i) { return std::sin(5 * t[i]) + t[i] * t[i]; };
  Binary64 binary64;
  const Scope scope(binary64);
  const View<const Number, 2> rows(psi.data(), {functions, 200});
  std::vector<double> x;
  for (std::size_t i = 0; i < 200; ++i) x.push_back(signal(i));
  const Row tokens(x.data(), {200});
  Matrix a(functions, functions), b(functions, 1);
  for (Index k = 0; k < functions; ++k) {
    for (Index j = 0; j < functions; ++j) a(k, j) = dot(rows[k], rows[j], k == j ? parameter(penalty) : Number(0));
    b(k, 0) = dot(rows[k], tokens);
  }
  const Matrix coefficients = solve(a, b);
  double most = 0;
  for (std::size_t i = 0; i < 200; ++i)
    most = std::max(most,
                    std::abs(approximate(dot(coefficients.column(0), rows.column(static_cast<Index>(i)))) - signal(i)));
  return most;
}

TEST(Infty, MoreFunctionsAndLessPenaltyFitBetter) {
  EXPECT_GT(residual(3, 0.01), 2 * residual(6, 0.01));
  EXPECT_GT(residual(6, 0.01), 2 * residual(12, 0.01));
  EXPECT_GT(residual(8, 100), 2 * residual(8, 1));
  EXPECT_GT(residual(8, 1), 2 * residual(8, 1e-4));
  EXPECT_LT(residual(16, 1e-6), 0.01);
}

// --- the expectation against certified integration
// -----------------------------------------------------------------------

struct Integrand {
  double mu, sigma2, c, s;
};

/// N(t; mu, sigma2) N(t; c, s^2) over complex t; entire, so that every order of continuation is allowed.
int product_of_densities(acb_ptr result, const acb_t t, void* parameters, slong, slong bits) {
  const auto& of = *static_cast<const Integrand*>(parameters);
  acb_t x;
  arb_t factor, y;
  acb_init(x), arb_init(factor), arb_init(y);
  const auto add_exponent = [&](double mean, const arb_t variance) {
    arb_set_d(y, mean);
    acb_sub_arb(x, t, y, bits);
    acb_mul(x, x, x, bits);
    acb_div_arb(x, x, variance, bits);
    acb_mul_2exp_si(x, x, -1);
    acb_sub(result, result, x, bits);
  };
  arb_t first, second;
  arb_init(first), arb_init(second);
  arb_set_d(first, of.sigma2);
  arb_set_d(second, of.s);
  arb_mul(second, second, second, bits);
  acb_zero(result);
  add_exponent(of.mu, first);
  add_exponent(of.c, second);
  acb_exp(result, result, bits);
  arb_mul(factor, first, second, bits);
  arb_sqrt(factor, factor, bits);
  arb_const_pi(y, bits);
  arb_mul(factor, factor, y, bits);
  arb_mul_2exp_si(factor, factor, 1);
  acb_div_arb(result, result, factor, bits);
  arb_clear(first), arb_clear(second);
  acb_clear(x), arb_clear(factor), arb_clear(y);
  return 0;
}

/// An enclosure of the integral over [from, to].
reference::Ball integral(const Integrand& of, double from, double to) {
  constexpr slong bits = 160;
  acb_t a, b, result;
  acb_init(a), acb_init(b), acb_init(result);
  acb_set_d(a, from), acb_set_d(b, to);
  mag_t tolerance;
  mag_init(tolerance);
  mag_set_ui_2exp_si(tolerance, 1, -120);
  Integrand copy = of;
  acb_calc_integrate(result, product_of_densities, &copy, a, b, bits, tolerance, nullptr, bits);
  reference::Ball ball;
  acb_get_real(ball.get(), result);
  mag_clear(tolerance);
  acb_clear(a), acb_clear(b), acb_clear(result);
  return ball;
}

/// The closed form as an enclosure.
std::pair<double, double> closed_form(const Integrand& of, const char* domain) {
  Problem problem{&find_spec("infty.expectation"), {{"n", 1}, {"b", 1}}, {{"domain", std::string(domain)}}, {}};
  problem.inputs = {{"mu", {{1}, {of.mu}}}, {"sigma2", {{1}, {of.sigma2}}}, {"c", {{1}, {of.c}}}, {"s", {{1}, {of.s}}}};
  const auto enclosure = golden::enclose(problem, "closed", 128);
  return {enclosure.middle.at("r").values[0], enclosure.radius.at("r").values[0]};
}

TEST(Infty, TheClosedFormIsTheIntegralOverBothDomains) {
  std::mt19937 engine(1);
  const auto uniform = [&](double a, double b) { return a + (b - a) * static_cast<double>(engine() % 1024) / 1024; };
  for (int i = 0; i < 40; ++i) {
    const Integrand of{uniform(-0.25, 1.25), uniform(0.01, 1), uniform(0, 1), uniform(0.05, 0.5)};
    for (const auto& [domain, from, to] : {std::tuple("unit_interval", 0.0, 1.0), {"real_line", -12.0, 13.0}}) {
      const auto ball = integral(of, from, to);
      const auto [middle, radius] = closed_form(of, domain);
      const double certified = reference::approximate(ball), width = mag_get_d(arb_radref(ball.get()));
      EXPECT_LT(width, 1e-25);
      // beyond 12 deviations of the density there is less than 10^-30 of it
      EXPECT_LE(std::abs(middle - certified), radius + width + 0x1p-52 * std::abs(certified) + 1e-30) << domain;
    }
  }
}

TEST(Infty, TheDomainsDifferByAFactorNearTwoAtAnEnd) {
  for (const double s : {0.05, 0.1}) {
    const Integrand of{0.02, 0.0025, 0, s};
    const double ratio = closed_form(of, "real_line").first / closed_form(of, "unit_interval").first;
    EXPECT_GT(ratio, 1.5);
    EXPECT_LT(ratio, 2);
  }
}

}  // namespace
}  // namespace attest
