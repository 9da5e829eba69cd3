// SPDX-License-Identifier: MIT
#pragma once

#include <mpfr.h>

#include <array>
#include <cmath>
#include <limits>

#include "attest/reference/tape.hpp"

namespace attest::reference {

/// Where a kernel rounds. Each channel has a unit of its own in a precision profile.
enum Channel : int {
  kAccumulate,  // + - * / in the arithmetic of the kernel; unit: its unit roundoff
  kOperand,     // a factor of a product stored in the operands' format; unit: that format's unit roundoff
  kFunction,    // exp, log, sqrt, sin, cos; unit: their relative error
  kStore,       // an output written in the storage format; unit: its unit roundoff
  kUnderflow,   // a result below the normal range; unit: the smallest normal number (an absolute error)
};
inline constexpr int kChannels = 5;
using PerChannel = std::array<double, kChannels>;

/// Correctly rounded elementary functions of doubles: the error model's bytes depend on no machine's libm.
namespace correctly_rounded {
template <int (*F)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
double apply(double x) {
  mpfr_t t;
  mpfr_init2(t, 53);
  mpfr_set_d(t, x, MPFR_RNDN);
  F(t, t, MPFR_RNDN);
  const double y = mpfr_get_d(t, MPFR_RNDN);
  mpfr_clear(t);
  return y;
}
}  // namespace correctly_rounded

/// The error-model reading: the value, and per channel a hard bound (in units of the channel) and a variance (in units
/// squared) of the error of any correct evaluation, whatever its order of summation.
///
/// The bound is rigorous, not first order: products carry their second-order terms and curved functions the secant
/// slope over the interval in which the computed argument can lie. Those slopes need the size of the errors, so they
/// are taken at the largest units for which the bound shall hold (`largest_units`); for smaller units they only grow
/// safer.
class Rounding {
public:
  Rounding() = default;
  /// A constant of the formula. Numbers of up to 8 significant bits are exact in every format; others are rounded.
  Rounding(double value) : value_(value) {
    int exponent;
    const double mantissa = std::ldexp(std::frexp(value, &exponent), 8);
    if (std::isfinite(value) && mantissa != std::floor(mantissa)) round(kAccumulate, std::abs(value));
  }
  Rounding(int value) : Rounding(static_cast<double>(value)) {}
  Rounding(Index value) : Rounding(static_cast<double>(value)) {}

  /// An input: it is what it is.
  static Rounding exact(double value) {
    Rounding x;
    x.value_ = value;
    return x;
  }

  /// Units for which the bounds shall hold: at least those of every profile judged with them.
  static PerChannel& largest_units() {
    thread_local PerChannel units{0x1p-24, 0x1p-24, 0x1p-19, 0x1p-24, 0x1p-126};
    return units;
  }

  double value() const { return value_; }
  const PerChannel& bound() const { return bound_; }
  const PerChannel& variance() const { return variance_; }

  /// Total error at the largest units.
  double error() const {
    const auto& u = largest_units();
    double total = 0;
    for (int c = 0; c < kChannels; ++c) total += bound_[c] * u[c];
    return total;
  }
  /// The largest magnitude that a computed value can have.
  double magnitude() const { return std::abs(value_) + error(); }

  /// The same number written to memory in the storage format. A structural zero stays an exact zero.
  Rounding stored() const {
    Rounding x = *this;
    if (value_ == 0 && error() == 0) return x;
    x.round(kStore, magnitude(), std::abs(value_));
    x.bound_[kUnderflow] += 1;
    return x;
  }

  friend Rounding operator-(Rounding a) { return a.value_ = -a.value_, a; }

  friend Rounding operator+(const Rounding& a, const Rounding& b) {
    Rounding x;
    x.value_ = a.value_ + b.value_;
    for (int c = 0; c < kChannels; ++c) {
      x.bound_[c] = a.bound_[c] + b.bound_[c];
      x.variance_[c] = a.variance_[c] + b.variance_[c];
    }
    // Adding an exact zero rounds nothing: a structural zero stays free.
    if ((a.value_ == 0 && a.error() == 0) || (b.value_ == 0 && b.error() == 0)) return x;
    x.round(kAccumulate, x.magnitude(), std::abs(x.value_));
    return x;
  }
  friend Rounding operator-(const Rounding& a, const Rounding& b) { return a + (-b); }

  friend Rounding operator*(const Rounding& a, const Rounding& b) {
    Rounding x = product(a, b);
    x.round(kAccumulate, x.magnitude(), std::abs(x.value_));
    if (a.magnitude() > 0 && b.magnitude() > 0) x.bound_[kUnderflow] += 1;
    return x;
  }

  friend Rounding operator/(const Rounding& a, const Rounding& b) {
    Rounding x;
    x.value_ = a.value_ / b.value_;
    const double below = std::abs(b.value_) - b.error();  // the smallest magnitude a computed denominator can have
    const double inverse = below > 0 ? 1 / below : std::numeric_limits<double>::infinity();
    const double quotient = std::abs(x.value_);
    for (int c = 0; c < kChannels; ++c) {
      x.bound_[c] = scaled(a.bound_[c], inverse) + scaled(scaled(b.bound_[c], inverse), quotient);
      x.variance_[c] = (a.variance_[c] + quotient * quotient * b.variance_[c]) / (b.value_ * b.value_);
    }
    if (a.value_ == 0 && a.error() == 0) return x;
    x.round(kAccumulate, x.magnitude(), quotient);
    x.bound_[kUnderflow] += 1;
    return x;
  }

  friend Rounding exp(const Rounding& a) {
    Rounding x;
    x.value_ = correctly_rounded::apply<mpfr_exp>(a.value_);
    const double error = a.error();
    const double slope = error > 0 ? correctly_rounded::apply<mpfr_expm1>(error) / error : 1;
    x.propagate(a, x.value_ * slope, x.value_);
    // 2^(x log2 e): the product and the rounded constant
    const double largest = x.magnitude();
    x.round(kAccumulate, 2 * a.magnitude() * largest, std::abs(a.value_) * x.value_);
    x.round(kFunction, largest, x.value_);
    x.bound_[kUnderflow] += 1;
    return x;
  }

  friend Rounding log(const Rounding& a) {
    Rounding x;
    x.value_ = correctly_rounded::apply<mpfr_log>(a.value_);
    const double below = a.value_ - a.error();
    x.propagate(a, below > 0 ? 1 / below : std::numeric_limits<double>::infinity(), 1 / a.value_);
    // log2(x) ln 2
    x.round(kAccumulate, 2 * x.magnitude(), std::abs(x.value_));
    x.round(kFunction, x.magnitude(), std::abs(x.value_));
    return x;
  }

  friend Rounding sqrt(const Rounding& a) {
    Rounding x;
    x.value_ = std::sqrt(a.value_);
    const double below = a.value_ - a.error();
    if (a.error() > 0) x.propagate(a, below > 0 ? 1 / (std::sqrt(below) + x.value_) : std::numeric_limits<double>::infinity(), 0.5 / x.value_);
    x.round(kFunction, x.magnitude(), x.value_);
    return x;
  }

  friend Rounding sin(const Rounding& a) { return wave(a, correctly_rounded::apply<mpfr_sin>(a.value_), correctly_rounded::apply<mpfr_cos>(a.value_)); }
  friend Rounding cos(const Rounding& a) { return wave(a, correctly_rounded::apply<mpfr_cos>(a.value_), correctly_rounded::apply<mpfr_sin>(a.value_)); }

  /// A factor of a product that may be held in the operands' format.
  static Rounding operand(Rounding x) {
    x.round(kOperand, x.magnitude(), std::abs(x.value()));
    x.bound_[kUnderflow] += 1;
    return x;
  }

private:
  friend class Sum<Rounding>;
  friend struct Dot<Rounding>;

  static double scaled(double bound, double factor) { return bound == 0 ? 0 : bound * factor; }

  /// One rounding of a result no larger than `largest`, typically `typical`: uniform within half a unit in the last place.
  void round(Channel channel, double largest, double typical) {
    bound_[channel] += largest;
    variance_[channel] += typical * typical / 3;
  }
  void round(Channel channel, double size) { round(channel, size, size); }

  void propagate(const Rounding& a, double secant, double slope) {
    for (int c = 0; c < kChannels; ++c) {
      bound_[c] = scaled(a.bound_[c], std::abs(secant));
      variance_[c] = a.variance_[c] == 0 ? 0 : slope * slope * a.variance_[c];
    }
  }

  /// a b before it is rounded, second-order terms included.
  static Rounding product(const Rounding& a, const Rounding& b) {
    Rounding x;
    x.value_ = a.value_ * b.value_;
    const double left = a.magnitude();
    for (int c = 0; c < kChannels; ++c) {
      x.bound_[c] = scaled(b.bound_[c], left) + scaled(a.bound_[c], std::abs(b.value_));
      x.variance_[c] = a.value_ * a.value_ * b.variance_[c] + b.value_ * b.value_ * a.variance_[c];
    }
    return x;
  }

  /// sin and cos: slope at most 1, difference of two values at most 2.
  static Rounding wave(const Rounding& a, double value, double slope) {
    Rounding x;
    x.value_ = value;
    const double error = a.error();
    x.propagate(a, error > 2 ? 2 / error : 1, slope);
    x.round(kFunction, 1, std::abs(value));
    return x;
  }

  double value_ = 0;
  PerChannel bound_{}, variance_{};
};

inline double approximate(const Rounding& x) { return x.value(); }
inline bool positive(const Rounding& x) { return x.value() > 0; }
inline bool less(const Rounding& x, const Rounding& y) { return x.value() < y.value(); }
inline bool is_zero(const Rounding& x) { return x.value() == 0; }
inline Rounding pivot(const Rounding& x) { return Rounding::exact(x.value()); }
inline double margin_of(const Rounding& gap) { return gap.value(); }
inline double error_of(const Rounding& gap) { return gap.error(); }

/// Any order, any tree: at most n - 1 roundings touch a term, and no partial sum exceeds the sum of magnitudes.
template <>
class Sum<Rounding> {
public:
  void add(const Rounding& term) {
    value_ += term.value_;
    for (int c = 0; c < kChannels; ++c) {
      total_.bound_[c] += term.bound_[c];
      total_.variance_[c] += term.variance_[c];
    }
    const double size = std::abs(term.value_);
    if (size == 0 && term.error() == 0) return;  // adding an exact zero rounds nothing
    ++terms_;
    magnitudes_ += term.magnitude();
    squares_ += size * size;
  }
  Rounding result() const {
    Rounding x = total_;
    x.value_ = value_;
    if (terms_ < 2) return x;
    const double n = static_cast<double>(terms_);
    const double u = Rounding::largest_units()[kAccumulate];
    const double growth = 1 / (1 - (n - 1) * u);  // (1+u)^(n-1) <= 1 + (n-1) u growth
    x.bound_[kAccumulate] += (n - 1) * magnitudes_ * growth;
    x.variance_[kAccumulate] += (n / 3 * value_ * value_ + n / 2 * squares_) / 3;
    return x;
  }

private:
  Rounding total_;
  double value_ = 0, magnitudes_ = 0, squares_ = 0;
  Index terms_ = 0;
};

/// Both factors may be held in the operands' format; products may or may not be rounded before they are added.
template <>
struct Dot<Rounding> {
  static Rounding of(View<const Rounding, 1> a, View<const Rounding, 1> b) {
    Sum<Rounding> sum;
    for (Index i = 0; i < a.extent(0); ++i) {
      if ((a(i).value() == 0 && a(i).error() == 0) || (b(i).value() == 0 && b(i).error() == 0)) continue;
      sum.add(Rounding::operand(a(i)) * Rounding::operand(b(i)));
    }
    return sum.result();
  }
};

/// Kernels compute gradients as products of matrices, and hold adjoints and what was computed forward in the operands' format. Passing an
/// adjoint on, or its negative, is no product; a factor that happens to be 1 is one, and the adjoint may be rounded to meet it.
inline Rounding chained(const Rounding& partial, const Rounding& adjoint, Partial kind) {
  if (kind == Partial::slope && std::abs(partial.value()) == 1 && partial.error() == 0) return partial * adjoint;
  if ((partial.value() == 0 && partial.error() == 0) || (adjoint.value() == 0 && adjoint.error() == 0)) return partial * adjoint;
  return Rounding::operand(partial) * Rounding::operand(adjoint);
}

}  // namespace attest::reference
