// SPDX-License-Identifier: MIT
#include "attest/reference/error_model.hpp"

#include <mpfr.h>

#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

/// Correctly rounded elementary functions of doubles: the error model's bytes depend on no machine's libm.
template <int (*F)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
double correctly_rounded(double x) {
  mpfr_t t;
  mpfr_init2(t, 53);
  mpfr_set_d(t, x, MPFR_RNDN);
  F(t, t, MPFR_RNDN);
  const double y = mpfr_get_d(t, MPFR_RNDN);
  mpfr_clear(t);
  return y;
}

double scaled(double bound, double factor) { return bound == 0 ? 0 : bound * factor; }

void propagate(Rounding& x, const Rounding& a, double secant, double slope) {
  for (std::size_t c = 0; c < kChannels; ++c) {
    x.bound[c] = scaled(a.bound[c], std::abs(secant));
    x.variance[c] = a.variance[c] == 0 ? 0 : slope * slope * a.variance[c];
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Rounding ErrorModel::stored(Rounding x) const {
  if (is_exact_zero(x)) return x;
  round(x, kStore, magnitude(x), std::abs(x.value));
  x.bound[kUnderflow] += 1;
  return x;
}

Rounding ErrorModel::operand(Rounding x) const {
  round(x, kOperand, magnitude(x), std::abs(x.value));
  x.bound[kUnderflow] += 1;
  return x;
}

void ErrorModel::from_constant(Rounding& r, double x) {
  r = {.value = x};
  int exponent;
  const double mantissa = std::ldexp(std::frexp(x, &exponent), 8);
  if (std::isfinite(x) && mantissa != std::floor(mantissa)) round(r, kAccumulate, std::abs(x), std::abs(x));
}

void ErrorModel::add(Rounding& r, const Rounding& a, const Rounding& b, double b_value) const {
  r.value = a.value + b_value;
  for (std::size_t c = 0; c < kChannels; ++c) {
    r.bound[c] = a.bound[c] + b.bound[c];
    r.variance[c] = a.variance[c] + b.variance[c];
  }
  // Adding an exact zero rounds nothing: a structural zero stays free.
  if (is_exact_zero(a) || is_exact_zero(b)) return;
  round(r, kAccumulate, magnitude(r), std::abs(r.value));
}

/// a b, second-order terms included, rounded.
Rounding ErrorModel::product_of(const Rounding& a, const Rounding& b) const {
  Rounding x;
  x.value = a.value * b.value;
  const double left = magnitude(a);
  for (std::size_t c = 0; c < kChannels; ++c) {
    x.bound[c] = scaled(b.bound[c], left) + scaled(a.bound[c], std::abs(b.value));
    x.variance[c] = a.value * a.value * b.variance[c] + b.value * b.value * a.variance[c];
  }
  round(x, kAccumulate, magnitude(x), std::abs(x.value));
  if (left > 0 && magnitude(b) > 0) x.bound[kUnderflow] += 1;
  return x;
}

void ErrorModel::divide(Rounding& r, const Rounding& a, const Rounding& b) {
  r.value = a.value / b.value;
  const double below = std::abs(b.value) - error(b);  // the smallest magnitude a computed denominator can have
  const double inverse = below > 0 ? 1 / below : kInfinity;
  const double quotient = std::abs(r.value);
  for (std::size_t c = 0; c < kChannels; ++c) {
    r.bound[c] = scaled(a.bound[c], inverse) + scaled(scaled(b.bound[c], inverse), quotient);
    r.variance[c] = (a.variance[c] + quotient * quotient * b.variance[c]) / (b.value * b.value);
  }
  if (is_exact_zero(a)) return;
  round(r, kAccumulate, magnitude(r), quotient);
  r.bound[kUnderflow] += 1;
}

void ErrorModel::exponential(Rounding& r, const Rounding& a) {
  r.value = correctly_rounded<mpfr_exp>(a.value);
  const double error = this->error(a);
  const double slope = error > 0 ? correctly_rounded<mpfr_expm1>(error) / error : 1;
  propagate(r, a, r.value * slope, r.value);
  // 2^(x log2 e): the product and the rounded constant
  const double largest = magnitude(r);
  round(r, kAccumulate, 2 * magnitude(a) * largest, std::abs(a.value) * r.value);
  round(r, kFunction, largest, r.value);
  r.bound[kUnderflow] += 1;
}

void ErrorModel::logarithm(Rounding& r, const Rounding& a) {
  r.value = correctly_rounded<mpfr_log>(a.value);
  const double below = a.value - error(a);
  propagate(r, a, below > 0 ? 1 / below : kInfinity, 1 / a.value);
  // log2(x) ln 2
  round(r, kAccumulate, 2 * magnitude(r), std::abs(r.value));
  round(r, kFunction, magnitude(r), std::abs(r.value));
}

void ErrorModel::square_root(Rounding& r, const Rounding& a) {
  r = {.value = std::sqrt(a.value)};
  const double below = a.value - error(a);
  if (error(a) > 0) propagate(r, a, below > 0 ? 1 / (std::sqrt(below) + r.value) : kInfinity, 0.5 / r.value);
  round(r, kFunction, magnitude(r), r.value);
}

/// sin and cos: slope at most 1, difference of two values at most 2.
void ErrorModel::wave(Rounding& r, const Rounding& a, double value, double slope) const {
  r.value = value;
  const double error = this->error(a);
  propagate(r, a, error > 2 ? 2 / error : 1, slope);
  round(r, kFunction, 1, std::abs(value));
}
void ErrorModel::sine(Rounding& r, const Rounding& a) { wave(r, a, correctly_rounded<mpfr_sin>(a.value), correctly_rounded<mpfr_cos>(a.value)); }
void ErrorModel::cosine(Rounding& r, const Rounding& a) { wave(r, a, correctly_rounded<mpfr_cos>(a.value), correctly_rounded<mpfr_sin>(a.value)); }

Handle ErrorModel::chained(Handle partial, Handle adjoint, Partial kind) {
  const Rounding &p = at(partial), &a = at(adjoint);
  if (kind == Partial::slope && std::abs(p.value) == 1 && error(p) == 0) return product(partial, adjoint);
  if (is_exact_zero(p) || is_exact_zero(a)) return product(partial, adjoint);
  return made([&](Rounding& r) { r = product_of(operand(p), operand(a)); });
}

/// What a sum is made of so far.
struct ErrorModel::Total {
  Rounding total;
  double magnitudes = 0, squares = 0;
  Index terms = 0;

  void add(const ErrorModel& model, const Rounding& term) {
    total.value += term.value;
    for (std::size_t c = 0; c < kChannels; ++c) {
      total.bound[c] += term.bound[c];
      total.variance[c] += term.variance[c];
    }
    const double size = std::abs(term.value), error = model.error(term);
    if (size == 0 && error == 0) return;  // adding an exact zero rounds nothing
    ++terms;
    magnitudes += size + error;
    squares += size * size;
  }
  Rounding result(const ErrorModel& model) const {
    Rounding x = total;
    if (terms < 2) return x;
    const double n = static_cast<double>(terms);
    const double growth = 1 / (1 - (n - 1) * model.units_[kAccumulate]);  // (1+u)^(n-1) <= 1 + (n-1) u growth
    x.bound[kAccumulate] += (n - 1) * magnitudes * growth;
    x.variance[kAccumulate] += (n / 3 * x.value * x.value + n / 2 * squares) / 3;
    return x;
  }
};

Handle ErrorModel::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  Total total;
  for (Index i = 0; i < n; ++i) total.add(*this, at(terms[i].handle()));
  return made([&](Rounding& r) { r = total.result(*this); });
}

Handle ErrorModel::dot(const Row& a, const Row& b) {
  Total total;
  for (Index i = 0; i < a.extent(0); ++i) {
    const Rounding x = element(a, i), y = element(b, i);
    if (is_exact_zero(x) || is_exact_zero(y)) continue;
    total.add(*this, product_of(operand(x), operand(y)));
  }
  return made([&](Rounding& r) { r = total.result(*this); });
}

void ErrorModel::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  for (Index c = 0; c < matrix.extent(1); ++c) out[c] = Number::owning(dot(row, matrix.column(c)));
}

}  // namespace attest::reference
