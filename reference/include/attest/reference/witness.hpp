// SPDX-License-Identifier: MIT
#pragma once

#include <boost/multiprecision/mpfr.hpp>

#include "attest/reference/pooled.hpp"

namespace attest::reference {

/// Boost.Multiprecision over MPFR in any precision, expression templates off so that `auto` is safe.
using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

/// The witness: the value in another library's arithmetic, at any precision.
class Witness : public Pooled<Witness, Real> {
public:
  explicit Witness(long bits) : digits_(static_cast<unsigned>(static_cast<double>(bits) * 0.30103) + 1) {}

  bool finer_than_binary64() const override { return true; }
  Handle pi() override;

  void from_input(Real& r, double x) { r = Real(x); }
  void from_constant(Real& r, double x) { r = Real(x); }
  void negate(Real& r, const Real& a) { r = -a; }
  void add(Real& r, const Real& a, const Real& b) { r = a + b; }
  void subtract(Real& r, const Real& a, const Real& b) { r = a - b; }
  void multiply(Real& r, const Real& a, const Real& b) { r = a * b; }
  void divide(Real& r, const Real& a, const Real& b) { r = a / b; }
  void exponential(Real& r, const Real& a) { r = boost::multiprecision::exp(a); }
  void logarithm(Real& r, const Real& a) { r = boost::multiprecision::log(a); }
  void logarithm_of_one_plus(Real& r, const Real& a) { r = boost::multiprecision::log1p(a); }
  void square_root(Real& r, const Real& a) { r = boost::multiprecision::sqrt(a); }
  void hyperbolic_tangent(Real& r, const Real& a) { r = boost::multiprecision::tanh(a); }
  void sine(Real& r, const Real& a) { r = boost::multiprecision::sin(a); }
  void cosine(Real& r, const Real& a) { r = boost::multiprecision::cos(a); }
  void error_complement(Real& r, const Real& a);

  Handle pivot(Handle a) override { return shared(a); }
  double approximate(Handle a) const override { return static_cast<double>(at(a)); }
  bool positive(Handle a) override { return at(a) > 0; }
  bool less(Handle a, Handle b) override { return at(a) < at(b); }
  bool is_zero(Handle a) const override { return at(a) == 0; }
  double margin_of(Handle gap) const override { return static_cast<double>(at(gap)); }

  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override;

private:
  void enter() override {
    before_ = Real::thread_default_precision();
    Real::thread_default_precision(digits_);
  }
  void leave() override { Real::thread_default_precision(before_); }

  unsigned digits_, before_ = 0;
};

}  // namespace attest::reference
