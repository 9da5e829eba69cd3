// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "attest/reference/pooled.hpp"

namespace attest::reference {

/// Where a kernel rounds. Each channel has a unit of its own in a precision profile.
enum Channel : int {
  kAccumulate,  // + - * / in the arithmetic of the kernel; unit: its unit roundoff
  kOperand,     // a factor of a product stored in the operands' format; unit: that format's unit roundoff
  kFunction,    // exp, log, log1p, sqrt, tanh, sin, cos, erfc; unit: their relative error
  kStore,       // an output written in the storage format; unit: its unit roundoff
  kUnderflow,   // a result below the normal range; unit: the smallest normal number (an absolute error)
};
inline constexpr int kChannels = 5;
using PerChannel = std::array<double, kChannels>;

/// A value, and per channel a hard bound (in units of the channel) and a variance (in units squared) of its error.
struct Rounding {
  double value = 0;
  PerChannel bound{}, variance{};
};

/// Where results are rounded. `after_division` is for inputs whose sums and products are exact in every format and
/// whose exponentials are 0 or 1: there a quotient or a root may still be two roundings off, as kernels multiply by
/// approximate reciprocals, and what is computed from it is rounded; nothing else is.
enum class Rounds { everywhere, after_division };

/// The variance of a number that is uniform between -1 and 1.
inline constexpr double kUniformVariance = 1.0 / 3;

/// The error of any correct evaluation, whatever its order of summation.
///
/// The bound is rigorous, not first order: products carry their second-order terms and curved functions the secant
/// slope over the interval in which the computed argument can lie. Those slopes need the size of the errors, so they
/// are taken at the largest units for which the bound shall hold; for smaller units they only grow safer.
class ErrorModel : public Pooled<ErrorModel, Rounding> {
public:
  /// Units for which the bounds shall hold: at least those of every profile judged with them.
  explicit ErrorModel(const PerChannel& largest_units, Rounds rounds = Rounds::everywhere)
      : units_(largest_units), all_(rounds == Rounds::everywhere) {}

  /// Total error at the largest units.
  double error(const Rounding& x) const {
    double total = 0;
    for (std::size_t c = 0; c < kChannels; ++c) total += x.bound[c] * units_[c];
    return total;
  }
  /// The largest magnitude that a computed value can have.
  double magnitude(const Rounding& x) const { return std::abs(x.value) + error(x); }
  /// The same number written to memory in the storage format. A structural zero stays an exact zero.
  Rounding stored(Rounding x) const;
  /// A factor of a product that may be held in the operands' format.
  Rounding operand(Rounding x) const;

  void from_input(Rounding& r, double x) { r = {.value = x}; }
  /// Numbers of up to 8 significant bits are exact in every format; others are rounded.
  void from_constant(Rounding& r, double x);
  void negate(Rounding& r, const Rounding& a) { r = a, r.value = -a.value; }
  void add(Rounding& r, const Rounding& a, const Rounding& b) { add(r, a, b, b.value); }
  void subtract(Rounding& r, const Rounding& a, const Rounding& b) { add(r, a, b, -b.value); }
  void multiply(Rounding& r, const Rounding& a, const Rounding& b) { r = product_of(a, b); }
  void divide(Rounding& r, const Rounding& a, const Rounding& b);
  void exponential(Rounding& r, const Rounding& a);
  void logarithm(Rounding& r, const Rounding& a);
  void logarithm_of_one_plus(Rounding& r, const Rounding& a);
  void square_root(Rounding& r, const Rounding& a);
  /// The relative error of a function, near 0 too: 2 sigma(2 x) - 1 does not have it there.
  void hyperbolic_tangent(Rounding& r, const Rounding& a);
  void sine(Rounding& r, const Rounding& a);
  void cosine(Rounding& r, const Rounding& a);
  void error_complement(Rounding& r, const Rounding& a);

  Handle held(Held, Handle a) override;
  Handle stable_by_norm(Handle a, double norm, Index steps) override;
  Handle pivot(Handle a) override { return input(at(a).value); }
  double approximate(Handle a) const override { return at(a).value; }
  bool positive(Handle a) override { return at(a).value > 0; }
  bool less(Handle a, Handle b) override { return at(a).value < at(b).value; }
  bool is_zero(Handle a) const override { return at(a).value == 0; }
  double margin_of(Handle gap) const override { return at(gap).value; }
  double error_of(Handle gap) const override { return error(at(gap)); }
  /// The slope is 1 or 0, and at most the errors of a and b, divided by the gap, away from what it is: at least 1 at
  /// any units at which they reach over the gap.
  std::optional<Either> either(Handle a, Handle b) override;

  /// Kernels compute gradients as products of matrices, and hold adjoints and what was computed forward in the
  /// operands' format. Passing an adjoint on, or its negative, is no product; a factor that happens to be 1 is one, and
  /// the adjoint may be rounded to meet it.
  Handle chained(Handle partial, Handle adjoint, Partial kind) override;

  bool takes_plain_inputs() const override { return true; }
  /// Any order, any tree: at most n - 1 roundings touch a term, and no partial sum exceeds the sum of magnitudes.
  Handle sum(const Number* terms, Index n) override;
  /// Both factors may be held in the operands' format; products may or may not be rounded before they are added.
  Handle dot(const Row& a, const Row& b) override { return dot_onto(0, a, b); }
  Handle dot_onto(Handle start, const Row& a, const Row& b) override;
  void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) override;
  /// The condition of a decides, not the steps of one method: what a stable solver computes solves a system whose
  /// matrix is off by a small multiple of its norm.
  void solve(const View<const Number, 2>& a, const View<const Number, 2>& b, Number* out) override;

private:
  struct Total;

  /// Adds the products of two rows, of plain inputs or of numbers, to a total.
  template <bool kPlainA, bool kPlainB>
  void add_products(Total& total, const Row& a, const Row& b) const;

  /// Whether what is computed from numbers with these errors is rounded at all.
  bool rounds(const Rounding& x) const { return all_ || x.bound[kAccumulate] != 0; }
  bool is_exact_zero(const Rounding& x) const { return x.value == 0 && error(x) == 0; }
  void add(Rounding& r, const Rounding& a, const Rounding& b, double b_value) const;
  /// One rounding of a result no larger than `largest`, typically `typical`: uniform within half a unit in the last
  /// place.
  void round(Rounding& x, Channel channel, double largest, double typical) const {
    if (!rounds(x)) return;
    x.bound[static_cast<std::size_t>(channel)] += largest;
    x.variance[static_cast<std::size_t>(channel)] += typical * typical * kUniformVariance;
  }
  /// A result that may lie below the normal range.
  void flush(Rounding& x) const { x.bound[kUnderflow] += all_ ? 1 : 0; }
  Rounding product_of(const Rounding& a, const Rounding& b) const;
  void round_logarithm(Rounding& r, const Rounding& a, double argument) const;
  void wave(Rounding& r, const Rounding& a, double value, double slope) const;
  Rounding element(const Row& row, Index i) const {
    return row.plain() ? Rounding{.value = row.plain()[i * row.stride(0)]}
                       : at(row.numbers()[i * row.stride(0)].handle());
  }

  PerChannel units_;
  bool all_;
};

}  // namespace attest::reference
