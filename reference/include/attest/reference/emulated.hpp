// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>

#include "attest/dtype.hpp"
#include "attest/reference/vocabulary.hpp"

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

/// The arithmetic of an emulated kernel.
struct Arithmetic {
  bool single = false;        // + - * / and functions round to binary32; else to binary64
  int operand_bits = 0;       // significant bits of a factor of a product; 0: as computed
  bool operand_half = false;  // factors are binary16, with its range
  Order order = Order::ascending;
  std::uint64_t seed = 1;     // of the shuffled order
};

/// The planted-kernel reading: every operation rounds as a kernel of low precision does, in an order of one's choice.
/// With it a form is one more correct kernel, and a variant of an equation is a wrong one.
class Emulated {
public:
  Emulated() = default;
  Emulated(double x) : value_(rounded(x)) {}
  Emulated(int x) : Emulated(static_cast<double>(x)) {}
  Emulated(Index x) : Emulated(static_cast<double>(x)) {}

  double value() const { return value_; }

  static Arithmetic& arithmetic() {
    thread_local Arithmetic current;
    return current;
  }
  static std::mt19937_64& engine() {
    thread_local std::mt19937_64 engine;
    return engine;
  }
  static double rounded(double x) { return arithmetic().single ? static_cast<double>(static_cast<float>(x)) : x; }

  /// Set when a binary16 factor came near the end of its range.
  static bool& overflowed() {
    thread_local bool flag = false;
    return flag;
  }
  static constexpr double kMostOfHalf = 0x1p15;  // half of binary16's largest number

  /// x as a factor of a product.
  static double operand(double x) {
    const auto& how = arithmetic();
    if (how.operand_half) {
      if (std::isfinite(x) && std::abs(x) > kMostOfHalf) overflowed() = true;
      return round_to(DType::f16, x);
    }
    if (how.operand_bits == 0 || !std::isfinite(x) || x == 0) return x;
    int exponent;
    const double mantissa = std::ldexp(std::frexp(x, &exponent), how.operand_bits);
    return std::ldexp(std::nearbyint(mantissa), exponent - how.operand_bits);
  }

  friend Emulated operator-(Emulated a) { return a.value_ = -a.value_, a; }
  // Rounding a binary64 result of binary32 operands once more gives the binary32 result: 53 >= 2 x 24 + 2.
  friend Emulated operator+(Emulated a, Emulated b) { return Emulated(a.value_ + b.value_); }
  friend Emulated operator-(Emulated a, Emulated b) { return Emulated(a.value_ - b.value_); }
  friend Emulated operator*(Emulated a, Emulated b) { return Emulated(a.value_ * b.value_); }
  friend Emulated operator/(Emulated a, Emulated b) { return Emulated(a.value_ / b.value_); }
  friend Emulated exp(Emulated a) {
    if (arithmetic().order != Order::exp2) return Emulated(std::exp(a.value_));
    constexpr double log2_e = 0x1.71547652b82fep+0;
    return Emulated(std::exp2(rounded(a.value_ * rounded(log2_e))));
  }
  friend Emulated log(Emulated a) { return Emulated(std::log(a.value_)); }
  friend Emulated sqrt(Emulated a) { return Emulated(std::sqrt(a.value_)); }
  friend Emulated sin(Emulated a) { return Emulated(std::sin(a.value_)); }
  friend Emulated cos(Emulated a) { return Emulated(std::cos(a.value_)); }

private:
  double value_ = 0;
};

inline double approximate(Emulated x) { return x.value(); }
inline bool positive(Emulated x) { return x.value() > 0; }
inline bool less(Emulated x, Emulated y) { return x.value() < y.value(); }
inline bool is_zero(Emulated x) { return x.value() == 0; }
inline Emulated pivot(Emulated x) { return x; }
inline double margin_of(Emulated gap) { return gap.value(); }
inline double error_of(Emulated) { return 0; }

/// Terms added in the emulated order.
template <>
class Sum<Emulated> {
public:
  void add(Emulated term) { terms_.push_back(term.value()); }

  Emulated result() const { return Sum(*this).added(); }

private:
  double added() {
    const std::size_t n = terms_.size();
    if (n == 0) return 0;
    switch (Emulated::arithmetic().order) {
      case Order::descending: std::reverse(terms_.begin(), terms_.end()); return in_turn(0, n, 1);
      case Order::pairwise: return tree(0, n);
      case Order::blocked: return partial_sums(n, 8, [this](std::size_t b, std::size_t) { return in_turn(8 * b, std::min(terms_.size(), 8 * b + 8), 1); });
      case Order::lanes: return partial_sums(n, (n + 7) / 8, [this](std::size_t lane, std::size_t lanes) { return in_turn(lane, terms_.size(), lanes); }, 8);
      case Order::by_magnitude:
        std::sort(terms_.begin(), terms_.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
        return in_turn(0, n, 1);
      case Order::shuffled: std::shuffle(terms_.begin(), terms_.end(), Emulated::engine()); return in_turn(0, n, 1);
      case Order::kahan: return compensated();
      case Order::wide: return wide();
      default: return in_turn(0, n, 1);
    }
  }

  double in_turn(std::size_t first, std::size_t end, std::size_t step) const {
    double total = terms_[first];
    for (std::size_t i = first + step; i < end; i += step) total = Emulated::rounded(total + terms_[i]);
    return total;
  }
  double tree(std::size_t first, std::size_t end) const {
    if (end - first == 1) return terms_[first];
    const std::size_t middle = first + (end - first) / 2;
    return Emulated::rounded(tree(first, middle) + tree(middle, end));
  }
  /// Partial sums of blocks of `width` terms (or of `lanes` lanes), added in turn.
  template <class F>
  double partial_sums(std::size_t n, std::size_t width, F&& part, std::size_t lanes = 0) const {
    const std::size_t parts = lanes ? std::min(lanes, n) : (n + width - 1) / width;
    double total = part(0, parts);
    for (std::size_t p = 1; p < parts; ++p) total = Emulated::rounded(total + part(p, parts));
    return total;
  }
  double compensated() const {
    double total = 0, lost = 0;
    for (const double term : terms_) {
      const double y = Emulated::rounded(term - lost), next = Emulated::rounded(total + y);
      lost = Emulated::rounded(Emulated::rounded(next - total) - y);
      total = next;
    }
    return std::isfinite(total) ? total : in_turn(0, terms_.size(), 1);
  }
  double wide() const {
    long double total = 0;
    for (const double term : terms_) total += term;
    return Emulated::rounded(static_cast<double>(total));
  }

  std::vector<double> terms_;
};

template <>
struct Dot<Emulated> {
  static Emulated of(View<const Emulated, 1> a, View<const Emulated, 1> b) {
    const Index n = a.extent(0);
    if (Emulated::arithmetic().order == Order::fma) {
      double total = 0;
      for (Index i = 0; i < n; ++i) {
        const double x = Emulated::operand(a(i).value()), y = Emulated::operand(b(i).value());
        total = Emulated::arithmetic().single
                    ? static_cast<double>(std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(total)))
                    : std::fma(x, y, total);
      }
      return total;
    }
    Sum<Emulated> sum;
    for (Index i = 0; i < n; ++i) sum.add(Emulated::operand(a(i).value()) * Emulated::operand(b(i).value()));
    return sum.result();
  }
};

/// Sets the arithmetic of this thread for as long as it lives.
class ArithmeticScope {
public:
  explicit ArithmeticScope(const Arithmetic& how) : before_(Emulated::arithmetic()) {
    Emulated::arithmetic() = how;
    Emulated::engine().seed(how.seed);
  }
  ~ArithmeticScope() { Emulated::arithmetic() = before_; }
  ArithmeticScope(const ArithmeticScope&) = delete;
  ArithmeticScope& operator=(const ArithmeticScope&) = delete;

private:
  Arithmetic before_;
};

}  // namespace attest::reference
