// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

/// Operations by name: "mac" (one multiply-add inside a dot), "add", "mul", "div", "exp", "log", "sqrt", "sin", "cos", "cmp".
struct Counts {
  Index mac = 0, add = 0, mul = 0, div = 0, exp = 0, log = 0, sqrt = 0, sin = 0, cos = 0, cmp = 0;

  std::map<std::string, Index> by_name() const {
    return {{"mac", mac}, {"add", add}, {"mul", mul}, {"div", div}, {"exp", exp},
            {"log", log}, {"sqrt", sqrt}, {"sin", sin}, {"cos", cos}, {"cmp", cmp}};
  }
};

/// The cost reading: a double that counts what is done with it, in this thread's `counts`.
class Counted {
public:
  static inline thread_local Counts counts;

  Counted() = default;
  Counted(double value) : value_(value) {}
  Counted(int value) : value_(value) {}
  Counted(Index value) : value_(static_cast<double>(value)) {}
  double value() const { return value_; }

  friend Counted operator-(const Counted& a) { return -a.value_; }
  friend Counted operator+(const Counted& a, const Counted& b) { return ++counts.add, a.value_ + b.value_; }
  friend Counted operator-(const Counted& a, const Counted& b) { return ++counts.add, a.value_ - b.value_; }
  friend Counted operator*(const Counted& a, const Counted& b) { return ++counts.mul, a.value_ * b.value_; }
  friend Counted operator/(const Counted& a, const Counted& b) { return ++counts.div, a.value_ / b.value_; }
  friend Counted exp(const Counted& a) { return ++counts.exp, std::exp(a.value_); }
  friend Counted log(const Counted& a) { return ++counts.log, std::log(a.value_); }
  friend Counted sqrt(const Counted& a) { return ++counts.sqrt, std::sqrt(a.value_); }
  friend Counted sin(const Counted& a) { return ++counts.sin, std::sin(a.value_); }
  friend Counted cos(const Counted& a) { return ++counts.cos, std::cos(a.value_); }

private:
  double value_ = 0;
};

inline double approximate(const Counted& x) { return x.value(); }
inline bool positive(const Counted& x) { return ++Counted::counts.cmp, x.value() > 0; }
inline bool less(const Counted& x, const Counted& y) { return ++Counted::counts.cmp, x.value() < y.value(); }
inline bool is_zero(const Counted& x) { return x.value() == 0; }
inline Counted pivot(const Counted& x) { return x; }
inline double margin_of(const Counted& gap) { return gap.value(); }
inline double error_of(const Counted&) { return 0; }

template <>
struct Dot<Counted> {
  static Counted of(View<const Counted, 1> a, View<const Counted, 1> b) {
    double total = 0;
    for (Index i = 0; i < a.extent(0); ++i) total += a(i).value() * b(i).value();
    Counted::counts.mac += a.extent(0);
    return total;
  }
};

}  // namespace attest::reference
