// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "attest/reference/plain.hpp"

namespace attest::reference {

/// Operations by name: "mac" (one multiply-add inside a dot), "add", "mul", "div", "exp", "log", "sqrt", "tanh", "sin",
/// "cos", "erfc", "cmp".
struct Counts {
  Index mac = 0, add = 0, mul = 0, div = 0, exp = 0, log = 0, sqrt = 0, tanh = 0, sin = 0, cos = 0, erfc = 0, cmp = 0;

  std::map<std::string, Index> by_name() const {
    return {{"mac", mac},   {"add", add},   {"mul", mul}, {"div", div}, {"exp", exp},   {"log", log},
            {"sqrt", sqrt}, {"tanh", tanh}, {"sin", sin}, {"cos", cos}, {"erfc", erfc}, {"cmp", cmp}};
  }
};

/// The cost: a binary64 value, and a count of what is done.
class Cost : public Plain<Cost> {
public:
  const Counts& counts() const { return counts_; }

  void from_input(double& r, double x) { r = x; }
  void from_constant(double& r, double x) { r = x; }
  void negate(double& r, double a) { r = -a; }
  void add(double& r, double a, double b) { ++counts_.add, r = a + b; }
  void subtract(double& r, double a, double b) { ++counts_.add, r = a - b; }
  void multiply(double& r, double a, double b) { ++counts_.mul, r = a * b; }
  void divide(double& r, double a, double b) { ++counts_.div, r = a / b; }
  void exponential(double& r, double a) { ++counts_.exp, r = std::exp(a); }
  void logarithm(double& r, double a) { ++counts_.log, r = std::log(a); }
  void logarithm_of_one_plus(double& r, double a) { ++counts_.log, r = std::log1p(a); }
  void square_root(double& r, double a) { ++counts_.sqrt, r = std::sqrt(a); }
  void hyperbolic_tangent(double& r, double a) { ++counts_.tanh, r = std::tanh(a); }
  void sine(double& r, double a) { ++counts_.sin, r = std::sin(a); }
  void cosine(double& r, double a) { ++counts_.cos, r = std::cos(a); }
  void error_complement(double& r, double a) { ++counts_.erfc, r = std::erfc(a); }

  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override;
  bool positive(Handle a) override { return ++counts_.cmp, Plain::positive(a); }
  bool less(Handle a, Handle b) override { return ++counts_.cmp, Plain::less(a, b); }

private:
  Counts counts_;
};

}  // namespace attest::reference
