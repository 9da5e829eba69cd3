// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/plain.hpp"

namespace attest::reference {

/// The value in binary64, sums in ascending order.
class Binary64 : public Plain<Binary64> {
public:
  void from_input(double& r, double x) { r = x; }
  void from_constant(double& r, double x) { r = x; }
  void negate(double& r, double a) { r = -a; }
  void add(double& r, double a, double b) { r = a + b; }
  void subtract(double& r, double a, double b) { r = a - b; }
  void multiply(double& r, double a, double b) { r = a * b; }
  void divide(double& r, double a, double b) { r = a / b; }
  void exponential(double& r, double a) { r = std::exp(a); }
  void logarithm(double& r, double a) { r = std::log(a); }
  void logarithm_of_one_plus(double& r, double a) { r = std::log1p(a); }
  void square_root(double& r, double a) { r = std::sqrt(a); }
  void hyperbolic_tangent(double& r, double a) { r = std::tanh(a); }
  void sine(double& r, double a) { r = std::sin(a); }
  void cosine(double& r, double a) { r = std::cos(a); }
  void error_complement(double& r, double a) { r = std::erfc(a); }

  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override;
  void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) override;
};

}  // namespace attest::reference
