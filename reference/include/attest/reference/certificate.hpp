// SPDX-License-Identifier: MIT
#pragma once

// Arb is a library of its own on Debian 12 and part of FLINT from FLINT 3 on.
#if __has_include(<flint/arb.h>)
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#else
#include <arb.h>
#include <arb_hypgeom.h>
#endif

#include "attest/reference/pooled.hpp"

namespace attest::reference {

/// An interval midpoint +- radius. One arb_t and nothing else, so that a row of balls is an arb_ptr; up to 128 bits
/// nothing is allocated.
class Ball {
public:
  Ball() { arb_init(x_); }
  explicit Ball(double value) { arb_init(x_), arb_set_d(x_, value); }
  Ball(const Ball& other) { arb_init(x_), arb_set(x_, other.x_); }
  Ball(Ball&& other) noexcept {
    *x_ = *other.x_;  // an arb_t may be moved bitwise, as FLINT's own swaps do
    arb_init(other.x_);
  }
  Ball& operator=(const Ball& other) { return arb_set(x_, other.x_), *this; }
  Ball& operator=(Ball&& other) noexcept { return arb_swap(x_, other.x_), *this; }
  ~Ball() { arb_clear(x_); }

  arb_ptr get() { return x_; }
  arb_srcptr get() const { return x_; }

private:
  arb_t x_;
};

static_assert(sizeof(Ball) == sizeof(arb_struct));

/// The midpoint, rounded to the nearest double.
inline double approximate(const Ball& x) { return arf_get_d(arb_midref(x.get()), ARF_RND_NEAR); }

/// The certificate: enclosures of the true value in Arb's ball arithmetic at a precision in bits. A branch that an
/// enclosure does not decide throws Undecided, and so does a quotient, logarithm or root of which it does not decide
/// whether there is one.
class Certificate : public Pooled<Certificate, Ball> {
public:
  explicit Certificate(long bits) : bits_(bits) {}
  long bits() const { return bits_; }
  /// The double that every number of the ball rounds to; throws Undecided where there are several.
  double nearest(const Number& x) const;

  bool finer_than_binary64() const override { return true; }
  Handle pi() override;

  void from_input(Ball& r, double x) { arb_set_d(r.get(), x); }
  void from_constant(Ball& r, double x) { arb_set_d(r.get(), x); }
  void negate(Ball& r, const Ball& a) { arb_neg(r.get(), a.get()); }
  void add(Ball& r, const Ball& a, const Ball& b) { arb_add(r.get(), a.get(), b.get(), bits_); }
  void subtract(Ball& r, const Ball& a, const Ball& b) { arb_sub(r.get(), a.get(), b.get(), bits_); }
  void multiply(Ball& r, const Ball& a, const Ball& b) { arb_mul(r.get(), a.get(), b.get(), bits_); }
  void divide(Ball& r, const Ball& a, const Ball& b);
  void exponential(Ball& r, const Ball& a) { arb_exp(r.get(), a.get(), bits_); }
  void logarithm(Ball& r, const Ball& a);
  void logarithm_of_one_plus(Ball& r, const Ball& a);
  void square_root(Ball& r, const Ball& a);
  void hyperbolic_tangent(Ball& r, const Ball& a) { arb_tanh(r.get(), a.get(), bits_); }
  void sine(Ball& r, const Ball& a) { arb_sin(r.get(), a.get(), bits_); }
  void cosine(Ball& r, const Ball& a) { arb_cos(r.get(), a.get(), bits_); }
  void error_complement(Ball& r, const Ball& a) { arb_hypgeom_erfc(r.get(), a.get(), bits_); }

  /// The midpoint, exactly.
  Handle pivot(Handle a) override;
  double approximate(Handle a) const override { return reference::approximate(at(a)); }
  bool positive(Handle a) override;
  bool less(Handle a, Handle b) override;
  bool is_zero(Handle a) const override;
  /// The largest double below everything in the ball.
  double margin_of(Handle gap) const override;

  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override;
  void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) override;
  void solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out) override;

private:
  struct Balls {
    arb_srcptr first;
    slong step;
  };
  Balls gathered(const Row& row, std::vector<arb_struct>& room) const;

  slong bits_;
  std::vector<arb_struct> left_, right_;  // shallow copies, only while a dot is computed
};

}  // namespace attest::reference
