// SPDX-License-Identifier: MIT
#include "attest/reference/error_model.hpp"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attest/reference/certificate.hpp"

namespace attest::reference {
namespace {

/// Correctly rounded elementary functions of doubles: the error model's bytes depend on no machine's libm.
template <int (*F)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
double by_mpfr(double x) {
  mpfr_t t;
  mpfr_init2(t, 53);
  mpfr_set_d(t, x, MPFR_RNDN);
  F(t, t, MPFR_RNDN);
  const double y = mpfr_get_d(t, MPFR_RNDN);
  mpfr_clear(t);
  return y;
}

/// What rounds to one double although it may err by 2^-58 of itself; NaN where there is none. The C library's functions
/// of 64 bits err by a few 2^-64.
double rounded_once(long double y) {
  if constexpr (std::numeric_limits<long double>::digits < 64) return std::numeric_limits<double>::quiet_NaN();
  const auto low = static_cast<double>(y - y * 0x1p-58L), high = static_cast<double>(y + y * 0x1p-58L);
  return low == high && std::abs(low) > 1e-300 && std::abs(low) < 1e300 ? low
                                                                        : std::numeric_limits<double>::quiet_NaN();
}

/// The same, many times faster: by the C library, or an enclosure at 80 bits, where that has one rounding, as nearly
/// always. Far from the ends of the range only, where MPFR's result is rounded twice.
template <long double (*Near)(long double), void (*Enclose)(arb_t, const arb_t, slong),
          int (*F)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>
double correctly_rounded(double x) {
  if (!std::isfinite(x)) return by_mpfr<F>(x);
  if (const double y = rounded_once(Near(x)); !std::isnan(y)) return y;
  thread_local Ball argument, result;
  thread_local struct Ends {
    arf_t low, high;
    Ends() { arf_init(low), arf_init(high); }
    ~Ends() { arf_clear(low), arf_clear(high); }
  } ends;
  arb_set_d(argument.get(), x);
  Enclose(result.get(), argument.get(), 80);
  arb_get_lbound_arf(ends.low, result.get(), 80);
  arb_get_ubound_arf(ends.high, result.get(), 80);
  const double low = arf_get_d(ends.low, ARF_RND_NEAR), high = arf_get_d(ends.high, ARF_RND_NEAR);
  return low == high && std::abs(low) > 1e-300 && std::abs(low) < 1e300 ? low : by_mpfr<F>(x);
}

double exp_of(double x) { return correctly_rounded<expl, arb_exp, mpfr_exp>(x); }
/// e^x - 1 of a small x >= 0 is x + t with t = x^2/2 + x^3/6 + ... < 2^-9 x: t in binary64 errs by less than 2^-48 t,
/// so that x + t rounds to one number or is left to an enclosure.
double expm1_of(double x) {
  if (x > 0x1p-400 && x < 0x1p-8) {
    const double t = x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7))))),
                 slack = 0x1p-48 * t;
    if (const double y = x + (t - slack); y == x + (t + slack)) return y;
  }
  return correctly_rounded<expm1l, arb_expm1, mpfr_expm1>(x);
}
double log_of(double x) { return correctly_rounded<logl, arb_log, mpfr_log>(x); }
double tanh_of(double x) { return correctly_rounded<tanhl, arb_tanh, mpfr_tanh>(x); }
double log1p_of(double x) { return correctly_rounded<log1pl, arb_log1p, mpfr_log1p>(x); }
double sin_of(double x) { return correctly_rounded<sinl, arb_sin, mpfr_sin>(x); }
double cos_of(double x) { return correctly_rounded<cosl, arb_cos, mpfr_cos>(x); }
double erfc_of(double x) { return correctly_rounded<erfcl, arb_hypgeom_erfc, mpfr_erfc>(x); }

double scaled(double bound, double factor) { return bound == 0 ? 0 : bound * factor; }

/// Whether x has at most 8 significant bits, so that it is a number of every format whose range it is in.
bool is_short(double x) {
  int exponent;
  const double mantissa = std::ldexp(std::frexp(x, &exponent), 8);
  return mantissa == std::floor(mantissa);
}

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
  flush(x);
  return x;
}

Rounding ErrorModel::operand(Rounding x) const {
  round(x, kOperand, magnitude(x), std::abs(x.value));
  flush(x);
  return x;
}

Handle ErrorModel::held(Held how, Handle a) {
  if (is_exact_zero(at(a))) return shared(a);
  if (how == Held::multiplied && error(at(a)) == 0 && is_short(at(a).value)) return shared(a);
  return made([&](Rounding& r) {
    switch (how) {
      case Held::operand:
      case Held::multiplied: r = operand(at(a)); break;
      case Held::stored: r = stored(at(a)); break;
      case Held::rescaled: r = at(a), round(r, kAccumulate, magnitude(r), std::abs(r.value)); break;
    }
  });
}

Handle ErrorModel::stable_by_norm(Handle a, double norm, Index steps) {
  return made([&](Rounding& r) {
    r = at(a);
    round(r, kAccumulate, static_cast<double>(steps) * norm, norm);
  });
}

void ErrorModel::from_constant(Rounding& r, double x) {
  r = {.value = x};
  if (std::isfinite(x) && !is_short(x)) round(r, kAccumulate, std::abs(x), std::abs(x));
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
  if (left > 0 && magnitude(b) > 0) flush(x);
  return x;
}

void ErrorModel::divide(Rounding& r, const Rounding& a, const Rounding& b) {
  r.value = a.value / b.value;
  const double below = std::abs(b.value) - error(b);  // the smallest magnitude a computed denominator can have
  const double inverse = below > 0 ? 1 / below : kInfinity;
  const double quotient = std::abs(r.value);
  if (b.value == 0 && error(b) > 0) {  // a denominator that is not 0 but too small for binary64
    r.value = 0;
    r.bound[kAccumulate] = r.variance[kAccumulate] = kInfinity;
    return;
  }
  for (std::size_t c = 0; c < kChannels; ++c) {
    r.bound[c] = scaled(a.bound[c], inverse) + scaled(scaled(b.bound[c], inverse), quotient);
    r.variance[c] = (a.variance[c] + quotient * quotient * b.variance[c]) / (b.value * b.value);
  }
  if (is_exact_zero(a)) return;
  // a product by a reciprocal, which may be approximate
  r.bound[kAccumulate] += 2 * quotient;
  round(r, kAccumulate, magnitude(r), quotient);
  flush(r);
}

void ErrorModel::exponential(Rounding& r, const Rounding& a) {
  r = {.value = exp_of(a.value)};
  if (!all_) return;
  const double error = this->error(a);
  const double slope = error > 0 ? expm1_of(error) / error : 1;
  propagate(r, a, r.value * slope, r.value);
  // 2^(x log2 e): the product and the rounded constant
  const double largest = magnitude(r);
  round(r, kAccumulate, 2 * magnitude(a) * largest, std::abs(a.value) * r.value);
  round(r, kFunction, largest, r.value);
  flush(r);
}

void ErrorModel::logarithm(Rounding& r, const Rounding& a) {
  r.value = log_of(a.value);
  round_logarithm(r, a, a.value);
}
void ErrorModel::logarithm_of_one_plus(Rounding& r, const Rounding& a) {
  r.value = log1p_of(a.value);
  round_logarithm(r, a, 1 + a.value);
}
/// The value of r is the logarithm of `argument`, which has the errors of a.
void ErrorModel::round_logarithm(Rounding& r, const Rounding& a, double argument) const {
  const double below = argument - error(a);
  propagate(r, a, below > 0 ? 1 / below : kInfinity, 1 / argument);
  // log2(x) ln 2
  round(r, kAccumulate, 2 * magnitude(r), std::abs(r.value));
  round(r, kFunction, magnitude(r), std::abs(r.value));
}

void ErrorModel::square_root(Rounding& r, const Rounding& a) {
  r = {.value = std::sqrt(a.value)};
  const double below = a.value - error(a);
  if (error(a) > 0) propagate(r, a, below > 0 ? 1 / (std::sqrt(below) + r.value) : kInfinity, 0.5 / r.value);
  if (!all_) r.bound[kAccumulate] += 2 * r.value;  // x times an approximate reciprocal root
  round(r, kFunction, magnitude(r), r.value);
}

void ErrorModel::hyperbolic_tangent(Rounding& r, const Rounding& a) {
  r.value = tanh_of(a.value);
  const auto slope_at = [](double tanh) { return (1 - tanh) * (1 + tanh); };
  // The slope is largest where the argument is nearest to 0.
  const double steepest = slope_at(tanh_of(std::max(0.0, std::abs(a.value) - error(a))));
  propagate(r, a, std::min(1.0, steepest + 0x1p-50), slope_at(r.value));
  round(r, kFunction, std::min(1.0, magnitude(r)), std::abs(r.value));
  flush(r);
}

/// sin and cos: slope at most 1, difference of two values at most 2.
void ErrorModel::wave(Rounding& r, const Rounding& a, double value, double slope) const {
  r.value = value;
  const double error = this->error(a);
  propagate(r, a, error > 2 ? 2 / error : 1, slope);
  round(r, kFunction, 1, std::abs(value));
}
void ErrorModel::sine(Rounding& r, const Rounding& a) { wave(r, a, sin_of(a.value), cos_of(a.value)); }
void ErrorModel::cosine(Rounding& r, const Rounding& a) { wave(r, a, cos_of(a.value), sin_of(a.value)); }

/// The slope is steepest where the computed argument is nearest to 0.
void ErrorModel::error_complement(Rounding& r, const Rounding& a) {
  constexpr double two_by_root_pi = 0x1.20dd750429b6dp+0;
  r = {.value = erfc_of(a.value)};
  const double nearest = std::max(std::abs(a.value) - error(a), 0.0);
  propagate(r, a, two_by_root_pi * exp_of(-nearest * nearest), two_by_root_pi * exp_of(-a.value * a.value));
  // far out e^(-x^2) is a factor, and x^2 is rounded
  const double largest = magnitude(r), square = a.value > 0 ? a.value * a.value : 0;
  round(r, kAccumulate, square * largest, square * r.value);
  round(r, kFunction, largest, r.value);
  flush(r);
}

std::optional<ErrorModel::Either> ErrorModel::either(Handle a, Handle b) {
  const Rounding x = at(a), y = at(b);
  const double gap = std::abs(x.value - y.value), error = this->error(x) + this->error(y);
  if (error == 0 || !(gap <= error)) return {};
  Either result{};
  result.larger = made([&](Rounding& r) {
    r = {.value = std::max(x.value, y.value)};
    for (std::size_t c = 0; c < kChannels; ++c) {
      r.bound[c] = std::max(x.bound[c], y.bound[c]);
      r.variance[c] = std::max(x.variance[c], y.variance[c]);
    }
  });
  const auto over_gap = [](double part, double by) { return part == 0 ? 0 : part / by; };
  result.slope = made([&](Rounding& r) {
    r = {.value = x.value > y.value ? 1.0 : 0.0};
    for (std::size_t c = 0; c < kChannels; ++c) {
      r.bound[c] = over_gap(x.bound[c] + y.bound[c], gap);
      r.variance[c] = over_gap(x.variance[c] + y.variance[c], gap * gap);
    }
  });
  return result;
}

Handle ErrorModel::chained(Handle partial, Handle adjoint, Partial kind) {
  const Rounding &p = at(partial), &a = at(adjoint);
  if (kind == Partial::slope && std::abs(p.value) == 1 && error(p) == 0) return product(partial, adjoint);
  if (is_exact_zero(p) || is_exact_zero(a)) return product(partial, adjoint);
  return made([&](Rounding& r) { r = product_of(operand(p), operand(a)); });
}

/// Running totals of a sum.
struct ErrorModel::Total {
  Rounding total;
  double magnitudes = 0, squares = 0;
  Index terms = 0;

  void add(const ErrorModel& model, const Rounding& term) {
    add(
        term.value, model.error(term), [&](std::size_t c) { return term.bound[c]; },
        [&](std::size_t c) { return term.variance[c]; });
  }
  /// `error` is that of the term at the largest units.
  template <class Bound, class Variance>
  void add(double value, double error, Bound&& bound, Variance&& variance) {
    total.value += value;
    for (std::size_t c = 0; c < kChannels; ++c) {
      total.bound[c] += bound(c);
      total.variance[c] += variance(c);
    }
    const double size = std::abs(value);
    if (size == 0 && error == 0) return;  // adding an exact zero rounds nothing
    ++terms;
    magnitudes += size + error;
    squares += size * size;
  }
  Rounding result(const ErrorModel& model) const {
    Rounding x = total;
    if (terms < 2 || !model.rounds(x)) return x;
    const double n = static_cast<double>(terms);
    const double growth = 1 / (1 - (n - 1) * model.units_[kAccumulate]);  // (1+u)^(n-1) <= 1 + (n-1) u growth
    x.bound[kAccumulate] += (n - 1) * magnitudes * growth;
    x.variance[kAccumulate] += (n / 3 * x.value * x.value + n / 2 * squares) * kUniformVariance;
    return x;
  }
};

Handle ErrorModel::sum(const Number* terms, Index n) {
  if (n == 0) return 0;
  Total total;
  for (Index i = 0; i < n; ++i) total.add(*this, at(terms[i].handle()));
  return made([&](Rounding& r) { r = total.result(*this); });
}

// --- dot ------------------------------------------------------------------------------------------------------
//
// Products of operands, the same operations in the same order as product_of(operand(x), operand(y)), for kLanes terms
// side by side; they are added to the total one after the other.

namespace {

constexpr Index kLanes = 8;

#if defined(__x86_64__)
// The same operations in wider registers: nothing is contracted, so every machine gives the same bits.
bool has_avx2() { return __builtin_cpu_supports("avx2"); }
bool has_avx512() { return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"); }
#endif

/// All bits where the condition holds. What is computed under a condition is a branch, and no loop with a branch is
/// vectorised.
[[gnu::always_inline]] inline std::uint64_t mask_of(bool condition) { return -static_cast<std::uint64_t>(condition); }

/// x where the mask's bits are set, else 0.
[[gnu::always_inline]] inline double masked(double x, std::uint64_t mask) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & mask);
}

struct Factors {
  double value[kLanes]{}, bound[kChannels][kLanes]{}, variance[kChannels][kLanes]{};

  void set(Index lane, const Rounding& x) {
    value[lane] = x.value;
    for (std::size_t c = 0; c < kChannels; ++c) bound[c][lane] = x.bound[c], variance[c][lane] = x.variance[c];
  }
};

struct Products : Factors {
  double error[kLanes]{};
};

[[gnu::always_inline]] inline double error_of(const double (&bound)[kChannels][kLanes], Index l, const double* units) {
  double total = bound[0][l] * units[0];
  for (int c = 1; c < kChannels; ++c) total += bound[c][l] * units[c];
  return total;
}

/// A plain input has no errors but those of an operand.
constexpr bool has_bound(bool plain, int c) { return !plain || c == kOperand || c == kUnderflow; }
constexpr bool has_variance(bool plain, int c) { return !plain || c == kOperand; }

template <bool kPlain>
[[gnu::always_inline]] inline void hold_as_operands(Factors& __restrict f, const double* __restrict units) {
  for (Index l = 0; l < kLanes; ++l) {
    const double size = std::abs(f.value[l]), squared = f.value[l] * f.value[l] * kUniformVariance;
    f.bound[kOperand][l] = kPlain ? size : f.bound[kOperand][l] + (size + error_of(f.bound, l, units));
    f.variance[kOperand][l] = kPlain ? squared : f.variance[kOperand][l] + squared;
    f.bound[kUnderflow][l] = kPlain ? 1 : f.bound[kUnderflow][l] + 1;
  }
}

template <bool kPlain>
[[gnu::always_inline]] inline double magnitude_of(const Factors& f, Index l, const double* units) {
  return std::abs(f.value[l]) +
         (kPlain ? f.bound[kOperand][l] * units[kOperand] + units[kUnderflow] : error_of(f.bound, l, units));
}

/// What is known to be 0 is left out; all values are finite where a factor is plain, so that this changes no bit.
template <bool kPlainX, bool kPlainY>
[[gnu::always_inline]] inline void multiply_factors(Factors& __restrict x, Factors& __restrict y,
                                                    Products& __restrict p, const double* __restrict units) {
  hold_as_operands<kPlainX>(x, units);
  hold_as_operands<kPlainY>(y, units);
  for (Index l = 0; l < kLanes; ++l) {
    const double a = x.value[l], b = y.value[l], left = magnitude_of<kPlainX>(x, l, units),
                 right = magnitude_of<kPlainY>(y, l, units), size = std::abs(b);
    p.value[l] = a * b;
    for (int c = 0; c < kChannels; ++c) {
      p.bound[c][l] = p.variance[c][l] = 0;
      if (has_bound(kPlainY, c)) p.bound[c][l] = masked(y.bound[c][l] * left, mask_of(y.bound[c][l] != 0));
      if (has_bound(kPlainX, c)) p.bound[c][l] += masked(x.bound[c][l] * size, mask_of(x.bound[c][l] != 0));
      if (has_variance(kPlainY, c)) p.variance[c][l] = a * a * y.variance[c][l];
      if (has_variance(kPlainX, c)) p.variance[c][l] += b * b * x.variance[c][l];
    }
    const double typical = std::abs(p.value[l]);
    p.bound[kAccumulate][l] += typical + error_of(p.bound, l, units);
    p.variance[kAccumulate][l] += typical * typical * kUniformVariance;
    p.bound[kUnderflow][l] += masked(1, mask_of(left > 0) & mask_of(right > 0));
    p.error[l] = error_of(p.bound, l, units);
  }
}

template <bool kPlainX, bool kPlainY>
void multiply_anywhere(Factors& x, Factors& y, Products& p, const double* units) {
  multiply_factors<kPlainX, kPlainY>(x, y, p, units);
}
#if defined(__x86_64__)
template <bool kPlainX, bool kPlainY>
[[gnu::target("avx2")]] void multiply_avx2(Factors& x, Factors& y, Products& p, const double* units) {
  multiply_factors<kPlainX, kPlainY>(x, y, p, units);
}
template <bool kPlainX, bool kPlainY>
[[gnu::target("avx512f,avx512dq,avx512vl")]] void multiply_avx512(Factors& x, Factors& y, Products& p,
                                                                  const double* units) {
  multiply_factors<kPlainX, kPlainY>(x, y, p, units);
}
template <bool kPlainX, bool kPlainY>
const auto multiply_here = has_avx512() ? multiply_avx512<kPlainX, kPlainY>
                           : has_avx2() ? multiply_avx2<kPlainX, kPlainY>
                                        : multiply_anywhere<kPlainX, kPlainY>;
#else
template <bool kPlainX, bool kPlainY>
const auto multiply_here = multiply_anywhere<kPlainX, kPlainY>;
#endif

}  // namespace

template <bool kPlainA, bool kPlainB>
void ErrorModel::add_products(Total& total, const Row& a, const Row& b) const {
  Factors x, y;
  Products products;
  Index lanes = 0;
  bool finite = true;
  const auto add = [&] {
    if ((kPlainA || kPlainB) && !finite) {
      for (Index l = 0; kPlainA && l < lanes; ++l) x.set(l, {.value = x.value[l]});
      for (Index l = 0; kPlainB && l < lanes; ++l) y.set(l, {.value = y.value[l]});
      multiply_here<false, false>(x, y, products, units_.data());
    } else {
      multiply_here<kPlainA, kPlainB>(x, y, products, units_.data());
    }
    for (Index l = 0; l < lanes; ++l)
      total.add(
          products.value[l], products.error[l], [&](std::size_t c) { return products.bound[c][l]; },
          [&](std::size_t c) { return products.variance[c][l]; });
    lanes = 0;
    finite = true;
  };
  for (Index i = 0, n = a.extent(0); i < n; ++i) {
    const double* left = kPlainA ? a.plain() + i * a.stride(0) : nullptr;
    const double* right = kPlainB ? b.plain() + i * b.stride(0) : nullptr;
    const Rounding* of_left = kPlainA ? nullptr : &at(a.numbers()[i * a.stride(0)].handle());
    const Rounding* of_right = kPlainB ? nullptr : &at(b.numbers()[i * b.stride(0)].handle());
    if (kPlainA ? *left == 0 : is_exact_zero(*of_left)) continue;
    if (kPlainB ? *right == 0 : is_exact_zero(*of_right)) continue;
    if constexpr (kPlainA)
      x.value[lanes] = *left;
    else
      x.set(lanes, *of_left);
    if constexpr (kPlainB)
      y.value[lanes] = *right;
    else
      y.set(lanes, *of_right);
    if (kPlainA || kPlainB) finite &= std::isfinite(x.value[lanes]) && std::isfinite(y.value[lanes]);
    if (++lanes == kLanes) add();
  }
  if (lanes > 0) add();
}

Handle ErrorModel::dot_onto(Handle start, const Row& a, const Row& b) {
  Total total;
  total.add(*this, at(start));
  if (!all_) {
    for (Index i = 0, n = a.extent(0); i < n; ++i) {
      const Rounding x = element(a, i), y = element(b, i);
      if (is_exact_zero(x) || is_exact_zero(y)) continue;
      total.add(*this, product_of(operand(x), operand(y)));
    }
  } else if (a.plain()) {
    b.plain() ? add_products<true, true>(total, a, b) : add_products<true, false>(total, a, b);
  } else {
    b.plain() ? add_products<false, true>(total, a, b) : add_products<false, false>(total, a, b);
  }
  return made([&](Rounding& r) { r = total.result(*this); });
}

// --- systems of linear equations
// -------------------------------------------------------------------------------------------

namespace {

/// The lower triangle of L with L L^T = a, row by row; entries are NaN where a is not positive definite.
std::vector<double> cholesky(const std::vector<double>& a, std::size_t n) {
  std::vector<double> l(n * n, 0);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double rest = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) rest -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(rest) : rest / l[j * n + j];
    }
  return l;
}

/// x with L L^T x = b, in place.
void substitute(const std::vector<double>& l, std::size_t n, std::vector<double>& x) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
}

}  // namespace

/// A computed solution solves (a + da) x = b + db. da and db hold the errors of a and b; da moreover the solver's own:
/// at most (3n + 7) u |L| |L^T| for Cholesky's factor L, quotients and roots being up to two more roundings off
/// [Higham 2002, section 10.1]; other methods are held to the norm of that. So
///   |dx| <= e + |a^-1| |da| |dx|   with   e = |a^-1| (|db| + |da| |x|),
/// and with r the row sums of |a^-1| |da|, r < 1: |dx| <= e + r max(e) / (1 - max(r)).
void ErrorModel::solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out) {
  const auto n = static_cast<std::size_t>(a.extent(0)), columns = static_cast<std::size_t>(b.extent(1));
  const auto entry = [](const View<const Number, 2>& matrix, const ErrorModel& model, std::size_t i, std::size_t j) {
    return model.element(matrix[static_cast<Index>(i)], static_cast<Index>(j));
  };
  std::vector<Rounding> of_a(n * n);
  std::vector<double> values(n * n), inverse(n * n), row_norm(n), column(n);
  double errors_of_diagonal = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      of_a[i * n + j] = of_a[j * n + i] = entry(a, *this, i, j);
      values[i * n + j] = values[j * n + i] = of_a[i * n + j].value;
      if (i == j) errors_of_diagonal += error(of_a[i * n + j]);
    }
  const auto l = cholesky(values, n);
  for (std::size_t j = 0; j < n; ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    column[j] = 1;
    substitute(l, n, column);
    for (std::size_t i = 0; i < n; ++i) inverse[i * n + j] = column[i];
  }
  double squares_of_products = 0;  // of the elements of |L| |L^T|
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double element = 0;
      for (std::size_t k = 0; k <= std::min(i, j); ++k) element += std::abs(l[i * n + k] * l[j * n + k]);
      squares_of_products += element * element;
    }
  const double steps = 3 * static_cast<double>(n) + 7, size = std::sqrt(squares_of_products) + errors_of_diagonal,
               own = steps * size;
  double worst = 0;  // the largest r
  std::vector<double> r(n), errors_of_row(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = 0; k < n; ++k) errors_of_row[j] += error(of_a[j * n + k]);
  for (std::size_t i = 0; i < n; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < n; ++j) {
      squares += inverse[i * n + j] * inverse[i * n + j];
      r[i] += std::abs(inverse[i * n + j]) * errors_of_row[j];
    }
    row_norm[i] = std::sqrt(squares);
    r[i] += row_norm[i] * own * units_[kAccumulate] * std::sqrt(static_cast<double>(n));
    worst = std::max(worst, r[i] >= 0 ? r[i] : kInfinity);
  }
  const double growth = worst < 1 ? 1 / (1 - worst) : kInfinity;
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<Rounding> x(n), of_b(n);
    bool zero = true;
    for (std::size_t i = 0; i < n; ++i) {
      of_b[i] = entry(b, *this, i, c);
      column[i] = of_b[i].value;
      zero &= is_exact_zero(of_b[i]);
    }
    substitute(l, n, column);
    double squares = 0, sizes = 0;
    for (const double value : column) squares += value * value, sizes += std::abs(value);
    std::vector<Rounding> residual(zero ? 0 : n);  // db + da x
    for (std::size_t j = 0; j < residual.size(); ++j)
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        double bound = of_b[j].bound[channel], variance = of_b[j].variance[channel];
        for (std::size_t k = 0; k < n; ++k) {
          bound += scaled(of_a[j * n + k].bound[channel], std::abs(column[k]));
          variance += of_a[j * n + k].variance[channel] * column[k] * column[k];
        }
        residual[j].bound[channel] = bound, residual[j].variance[channel] = variance;
      }
    for (std::size_t i = 0; i < n && !zero; ++i) {
      x[i].value = column[i];
      for (std::size_t j = 0; j < n; ++j) {
        const double factor = std::abs(inverse[i * n + j]);
        for (std::size_t channel = 0; channel < kChannels; ++channel) {
          x[i].bound[channel] += scaled(residual[j].bound[channel], factor);
          x[i].variance[channel] += factor * factor * residual[j].variance[channel];
        }
        x[i].bound[kUnderflow] += factor * steps * (1 + sizes);
      }
      const double norm = std::sqrt(squares);
      x[i].bound[kAccumulate] += row_norm[i] * own * norm + 3 * std::abs(column[i]);
      x[i].variance[kAccumulate] += squares * row_norm[i] * row_norm[i] * size * size * kUniformVariance;
    }
    PerChannel most{};
    for (const Rounding& element : x)
      for (std::size_t channel = 0; channel < kChannels; ++channel)
        most[channel] = std::max(most[channel], element.bound[channel]);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t channel = 0; channel < kChannels && !zero; ++channel)
        x[i].bound[channel] += scaled(scaled(most[channel], r[i]), growth);
      out[i * columns + c] = number(x[i]);
    }
  }
}

// --- products of a row with a matrix of plain inputs
// -----------------------------------------------------------------------
//
// dot() of each column, the same operations in the same order, for kLanes columns side by side. The factor
// of the row is taken apart once for all of them; an input has no errors but those of an operand.

namespace {

/// A factor of the row, as an operand.
struct RowFactor {
  Rounding x;
  double magnitude;
  bool skipped;  // an exact zero
  bool input;    // no errors but those of an operand, and finite

  explicit RowFactor(const Rounding& x_, double magnitude_, bool skipped_)
      : x(x_), magnitude(magnitude_), skipped(skipped_) {
    input = std::isfinite(x.value);
    for (std::size_t c = 0; c < kChannels; ++c)
      input &= c == kOperand || ((c == kUnderflow || x.bound[c] == 0) && x.variance[c] == 0);
  }
};

struct Lanes {
  double value[kLanes]{}, bound[kChannels][kLanes]{}, variance[kChannels][kLanes]{}, magnitudes[kLanes]{},
      squares[kLanes]{}, terms[kLanes]{};
};

/// Adds factor x matrix element to every lane; y points at the elements, `step` apart. Where both are inputs most of
/// the terms are 0.
template <bool kInputs>
[[gnu::always_inline]] inline void add_terms(Lanes& t, const RowFactor& f, const double* y, Index step,
                                             const PerChannel& u) {
  const double x = f.x.value, left = f.magnitude, x_squared = x * x, nothing = x_squared * 0;
  const PerChannel b = f.x.bound, v = f.x.variance;
  double y_of[kLanes];
  for (Index l = 0; l < kLanes; ++l) y_of[l] = y[l * step];
  for (Index l = 0; l < kLanes; ++l) {
    const double y_l = y_of[l], size = std::abs(y_l), y_squared = y_l * y_l;
    const std::uint64_t used = mask_of(y_l != 0);
    const double value = x * y_l, largest = std::abs(value), value_squared = value * value;
    const double b0 = kInputs ? 0 : b[0] * size;
    const double b1 = size * left + b[1] * size, b2 = kInputs ? 0 : b[2] * size, b3 = kInputs ? 0 : b[3] * size,
                 b4 = left + b[4] * size;
    const double error = b0 * u[0] + b1 * u[1] + b2 * u[2] + b3 * u[3] + b4 * u[4];
    const double b0_all = b0 + (largest + error), b4_all = b4 + 1;
    const double all = b0_all * u[0] + b1 * u[1] + b2 * u[2] + b3 * u[3] + b4_all * u[4];
    const double v0 =
        kInputs ? value_squared * kUniformVariance : nothing + y_squared * v[0] + value_squared * kUniformVariance;
    const double v1 = x_squared * (y_squared * kUniformVariance) + y_squared * v[1];
    t.value[l] += masked(value, used);
    t.bound[0][l] += masked(b0_all, used);
    t.bound[1][l] += masked(b1, used);
    t.bound[4][l] += masked(b4_all, used);
    t.variance[0][l] += masked(v0, used);
    t.variance[1][l] += masked(v1, used);
    if constexpr (!kInputs) {
      t.bound[2][l] += masked(b2, used);
      t.bound[3][l] += masked(b3, used);
      t.variance[2][l] += masked(nothing + y_squared * v[2], used);
      t.variance[3][l] += masked(nothing + y_squared * v[3], used);
      t.variance[4][l] += masked(nothing + y_squared * v[4], used);
    }
    t.magnitudes[l] += masked(largest + all, used);
    t.squares[l] += masked(value_squared, used);
    t.terms[l] += masked(1, used);
  }
}

struct Block {
  const RowFactor* row;
  Index count;
  const double* y;
  Index row_step, column_step;
  bool finite;  // all elements
  const PerChannel& units;
};

[[gnu::always_inline]] inline void add_block(Lanes& to, const Block& m) {
  Lanes t;
  const auto add = [&](Index step) __attribute__((always_inline)) {
    for (Index i = 0; i < m.count; ++i) {
      const RowFactor& factor = m.row[i];
      if (factor.skipped) continue;
      const double* y = m.y + i * m.row_step;
      if (factor.input && m.finite)
        add_terms<true>(t, factor, y, step, m.units);
      else
        add_terms<false>(t, factor, y, step, m.units);
    }
  };
  if (m.column_step == 1)
    add(1);
  else
    add(m.column_step);
  to = t;
}

void add_block_anywhere(Lanes& t, const Block& m) { add_block(t, m); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_block_avx2(Lanes& t, const Block& m) { add_block(t, m); }
[[gnu::target("avx512f,avx512dq,avx512vl")]] void add_block_avx512(Lanes& t, const Block& m) { add_block(t, m); }
const auto add_block_here = has_avx512() ? add_block_avx512 : has_avx2() ? add_block_avx2 : add_block_anywhere;
#else
const auto add_block_here = add_block_anywhere;
#endif

}  // namespace

void ErrorModel::row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) {
  const Index n = row.extent(0), columns = matrix.extent(1);
  if (!matrix.plain() || columns < kLanes || units_[kUnderflow] == 0 || !all_)
    return Arithmetic::row_times_matrix(row, matrix, out);
  std::vector<RowFactor> factors;
  factors.reserve(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    const Rounding x = element(row, i), factor = operand(x);
    factors.emplace_back(factor, magnitude(factor), is_exact_zero(x));
  }
  // Only factors that are inputs have a shorter way for finite elements: without them nobody asks.
  const bool inputs = std::any_of(factors.begin(), factors.end(), [](const RowFactor& factor) { return factor.input; });
  for (Index first = 0; first < columns; first += kLanes) {
    first = std::min(first, columns - kLanes);  // the last lanes may overlap those before them
    const auto of_lanes = matrix.columns(first, kLanes);
    bool finite = inputs;
    for (Index l = 0; inputs && l < kLanes; ++l)
      for (Index i = 0; i < n; ++i)
        finite &= std::isfinite(of_lanes.plain()[i * matrix.stride(0) + l * matrix.stride(1)]);
    Lanes t;
    add_block_here(t, {factors.data(), n, of_lanes.plain(), matrix.stride(0), matrix.stride(1), finite, units_});
    for (Index l = 0; l < kLanes; ++l) {
      Total total;
      total.total.value = t.value[l];
      for (std::size_t c = 0; c < kChannels; ++c)
        total.total.bound[c] = t.bound[c][l], total.total.variance[c] = t.variance[c][l];
      total.magnitudes = t.magnitudes[l], total.squares = t.squares[l], total.terms = static_cast<Index>(t.terms[l]);
      out[first + l] = number(total.result(*this));
    }
  }
}

}  // namespace attest::reference
