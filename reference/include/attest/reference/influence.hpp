// SPDX-License-Identifier: MIT
#pragma once

#include <boost/dynamic_bitset.hpp>
#include <cmath>

#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

/// The influence reading: a double and the set of input tokens that it was computed from. Causality and receptive
/// fields are read off. Data flow only: what decides a branch does not count as having entered the value.
class Influence {
public:
  using Tokens = boost::dynamic_bitset<>;

  Influence() = default;
  Influence(double value) : value_(value) {}
  Influence(int value) : value_(value) {}
  Influence(Index value) : value_(static_cast<double>(value)) {}
  /// An input that belongs to token `token`.
  static Influence of_token(double value, std::size_t token) {
    Influence x(value);
    x.tokens_.resize(token + 1);
    x.tokens_.set(token);
    return x;
  }

  double value() const { return value_; }
  const Tokens& tokens() const { return tokens_; }

  friend Influence operator-(const Influence& a) { return join(-a.value_, a, a); }
  friend Influence operator+(const Influence& a, const Influence& b) { return join(a.value_ + b.value_, a, b); }
  friend Influence operator-(const Influence& a, const Influence& b) { return join(a.value_ - b.value_, a, b); }
  friend Influence operator*(const Influence& a, const Influence& b) { return join(a.value_ * b.value_, a, b); }
  friend Influence operator/(const Influence& a, const Influence& b) { return join(a.value_ / b.value_, a, b); }
  friend Influence exp(const Influence& a) { return join(std::exp(a.value_), a, a); }
  friend Influence log(const Influence& a) { return join(std::log(a.value_), a, a); }
  friend Influence sqrt(const Influence& a) { return join(std::sqrt(a.value_), a, a); }
  friend Influence sin(const Influence& a) { return join(std::sin(a.value_), a, a); }
  friend Influence cos(const Influence& a) { return join(std::cos(a.value_), a, a); }

private:
  static Influence join(double value, const Influence& a, const Influence& b) {
    Influence x(value);
    x.tokens_ = a.tokens_.size() < b.tokens_.size() ? b.tokens_ : a.tokens_;
    Tokens other = a.tokens_.size() < b.tokens_.size() ? a.tokens_ : b.tokens_;
    other.resize(x.tokens_.size());
    x.tokens_ |= other;
    return x;
  }

  double value_ = 0;
  Tokens tokens_;
};

inline double approximate(const Influence& x) { return x.value(); }
inline bool positive(const Influence& x) { return x.value() > 0; }
inline bool less(const Influence& x, const Influence& y) { return x.value() < y.value(); }
inline bool is_zero(const Influence& x) { return x.value() == 0; }
inline Influence pivot(const Influence& x) { return x; }
inline double margin_of(const Influence& gap) { return gap.value(); }
inline double error_of(const Influence&) { return 0; }

}  // namespace attest::reference
