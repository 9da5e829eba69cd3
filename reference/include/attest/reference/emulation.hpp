// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attest/dtype.hpp"
#include "attest/reference/plain.hpp"

namespace attest::reference {

/// How a correct kernel may add: one member per order or scheme. `exp2` adds as `ascending` does and takes every
/// exponential as 2^(x log2 e) with the constant rounded, as most fast kernels do.
enum class Order { ascending, descending, pairwise, blocked, lanes, by_magnitude, shuffled, kahan, wide, fma, exp2 };

struct NamedOrder {
  std::string_view name;
  Order order;
};
inline constexpr std::array<NamedOrder, 11> kOrders{{{"ascending", Order::ascending},
                                                     {"descending", Order::descending},
                                                     {"pairwise", Order::pairwise},
                                                     {"blocked", Order::blocked},
                                                     {"lanes", Order::lanes},
                                                     {"by_magnitude", Order::by_magnitude},
                                                     {"shuffled", Order::shuffled},
                                                     {"kahan", Order::kahan},
                                                     {"wide", Order::wide},
                                                     {"fma", Order::fma},
                                                     {"exp2", Order::exp2}}};

/// What a kernel makes of a number that it holds: mostly a number of another format.
using Change = std::function<double(double)>;

/// The rounding of an emulated kernel.
struct Kernel {
  bool single = false;         // + - * / and functions round to binary32; else to binary64
  int operand_bits = 0;        // significant bits of a factor of a product; 0: as computed
  bool operand_half = false;   // factors are binary16, with its range
  bool operand_cut = false;    // factors are cut to those bits, not rounded
  DType storage = DType::f64;  // of what is kept in memory on the way
  Order order = Order::ascending;
  std::uint64_t seed = 1;                             // of the shuffled order
  std::map<std::string, Change, std::less<>> stages;  // what becomes of named intermediate results
  std::set<std::string, std::less<>> detached;        // those that derivatives take for constants
  Change totals;                                      // what becomes of every running total of a sum; none: nothing
};

/// A kernel of low precision: every operation rounds as it does, in an order of one's choice. A form is then one more
/// correct kernel, and a fault is a wrong one.
class Emulation : public Plain<Emulation> {
public:
  explicit Emulation(const Kernel& kernel) : kernel_(kernel), engine_(kernel.seed) {}

  /// Whether a binary16 factor came near the end of its range.
  bool overflowed() const { return overflowed_; }
  static constexpr double kMostOfHalf = 0x1p15;  // half of binary16's largest number

  void from_input(double& r, double x) { r = rounded(x); }
  void from_constant(double& r, double x) { r = rounded(x); }
  void negate(double& r, double a) { r = -a; }
  // Rounding a binary64 result of binary32 operands once more gives the binary32 result: 53 >= 2 x 24 + 2.
  void add(double& r, double a, double b) { r = rounded(a + b); }
  void subtract(double& r, double a, double b) { r = rounded(a - b); }
  void multiply(double& r, double a, double b) { r = rounded(a * b); }
  void divide(double& r, double a, double b) { r = rounded(a / b); }
  void exponential(double& r, double a);
  void logarithm(double& r, double a) { r = rounded(std::log(a)); }
  void logarithm_of_one_plus(double& r, double a) { r = rounded(std::log1p(a)); }
  void square_root(double& r, double a) { r = rounded(std::sqrt(a)); }
  void hyperbolic_tangent(double& r, double a) { r = rounded(std::tanh(a)); }
  void sine(double& r, double a) { r = rounded(std::sin(a)); }
  void cosine(double& r, double a) { r = rounded(std::cos(a)); }
  void error_complement(double& r, double a) { r = rounded(std::erfc(a)); }

  Handle kept_in(DType dtype, Handle a) override;
  Handle held(Held, Handle a) override;
  Handle stage(std::string_view label, Handle a) override;
  bool detaches(std::string_view label) const override {
    return kernel_.detached.find(label) != kernel_.detached.end();
  }
  bool has_stage(std::string_view label) const override {
    return kernel_.stages.find(label) != kernel_.stages.end() || detaches(label);
  }
  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override { return dot_of(nullptr, a, b); }
  Handle dot_onto(Handle start, const Row& a, const Row& b) override { return dot_of(&at(start), a, b); }
  void row_times_matrix(const Row& row, const View<const Number, 2>& matrix, Number* out) override;

private:
  double rounded(double x) const { return kernel_.single ? static_cast<double>(static_cast<float>(x)) : x; }
  /// x as a factor of a product.
  double operand(double x);
  /// The products, and `start` in front of them where there is one.
  Handle dot_of(const double* start, const Row& a, const Row& b);
  /// A row's elements as factors of products: where they lie when nothing is rounded, else in `room`.
  const double* factors(const Row& row, std::vector<double>& room);
  /// Terms added in the kernel's order, which may move them about.
  double added(std::vector<double>& terms);
  double in_turn(const std::vector<double>& terms, std::size_t first, std::size_t end, std::size_t step) const;
  double tree(const double* terms, std::size_t n) const;
  double compensated(const std::vector<double>& terms) const;

  Kernel kernel_;
  std::mt19937_64 engine_;
  bool overflowed_ = false;
};

}  // namespace attest::reference
