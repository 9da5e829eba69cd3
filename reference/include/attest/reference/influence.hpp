// SPDX-License-Identifier: MIT
#pragma once

#include <boost/dynamic_bitset.hpp>
#include <cmath>

#include "attest/reference/pooled.hpp"

namespace attest::reference {

/// A binary64 value and the set of input tokens that it was computed from.
struct Influenced {
  using Tokens = boost::dynamic_bitset<>;
  double value = 0;
  Tokens tokens;
};

/// The influence: which input tokens an output depends on. Causality and receptive fields are read off. Data flow only:
/// what decides a branch does not count as having entered the value.
class Influence : public Pooled<Influence, Influenced> {
public:
  /// An input that belongs to token `token`.
  Number of_token(double x, std::size_t token);

  void from_input(Influenced& r, double x) { r.value = x, r.tokens.clear(); }
  void from_constant(Influenced& r, double x) { r.value = x, r.tokens.clear(); }
  void negate(Influenced& r, const Influenced& a) { r = a, r.value = -a.value; }
  void add(Influenced& r, const Influenced& a, const Influenced& b) { join(r, a.value + b.value, a, b); }
  void subtract(Influenced& r, const Influenced& a, const Influenced& b) { join(r, a.value - b.value, a, b); }
  void multiply(Influenced& r, const Influenced& a, const Influenced& b) { join(r, a.value * b.value, a, b); }
  void divide(Influenced& r, const Influenced& a, const Influenced& b) { join(r, a.value / b.value, a, b); }
  void exponential(Influenced& r, const Influenced& a) { r = a, r.value = std::exp(a.value); }
  void logarithm(Influenced& r, const Influenced& a) { r = a, r.value = std::log(a.value); }
  void logarithm_of_one_plus(Influenced& r, const Influenced& a) { r = a, r.value = std::log1p(a.value); }
  void square_root(Influenced& r, const Influenced& a) { r = a, r.value = std::sqrt(a.value); }
  void hyperbolic_tangent(Influenced& r, const Influenced& a) { r = a, r.value = std::tanh(a.value); }
  void sine(Influenced& r, const Influenced& a) { r = a, r.value = std::sin(a.value); }
  void cosine(Influenced& r, const Influenced& a) { r = a, r.value = std::cos(a.value); }
  void error_complement(Influenced& r, const Influenced& a) { r = a, r.value = std::erfc(a.value); }

  Handle pivot(Handle a) override { return shared(a); }
  double approximate(Handle a) const override { return at(a).value; }
  bool positive(Handle a) override { return at(a).value > 0; }
  bool less(Handle a, Handle b) override { return at(a).value < at(b).value; }
  bool is_zero(Handle a) const override { return at(a).value == 0; }
  double margin_of(Handle gap) const override { return at(gap).value; }

  Handle sum(const Number* terms, Index n) override;
  Handle dot(const Row& a, const Row& b) override;

private:
  static void join(Influenced& r, double value, const Influenced& a, const Influenced& b);
};

}  // namespace attest::reference
