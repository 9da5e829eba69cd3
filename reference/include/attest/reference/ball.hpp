// SPDX-License-Identifier: MIT
#pragma once

// Arb is a library of its own on Debian 12 and part of FLINT from FLINT 3 on.
#if __has_include(<flint/arb.h>)
#include <flint/arb.h>
#else
#include <arb.h>
#endif

#include <utility>

#include "attest/reference/vocabulary.hpp"

namespace attest::reference {

/// The certificate reading: an interval midpoint +- radius that contains the true value, in Arb's arithmetic.
/// One arb_t and nothing else, so that a row of balls is an arb_ptr; up to 128 bits nothing is allocated.
class Ball {
public:
  Ball() { arb_init(x_); }
  Ball(int value) { arb_init(x_), arb_set_si(x_, value); }
  Ball(Index value) { arb_init(x_), arb_set_si(x_, value); }
  Ball(double value) { arb_init(x_), arb_set_d(x_, value); }
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

  /// Working precision of this thread, in bits.
  static slong precision() { return precision_; }
  static void set_precision(slong bits) { precision_ = bits; }

  friend Ball operator-(const Ball& a) { return make([&](arb_ptr r) { arb_neg(r, a.x_); }); }
  friend Ball operator-(Ball&& a) { return arb_neg(a.x_, a.x_), std::move(a); }
  friend Ball operator+(const Ball& a, const Ball& b) { return make([&](arb_ptr r) { arb_add(r, a.x_, b.x_, precision_); }); }
  friend Ball operator-(const Ball& a, const Ball& b) { return make([&](arb_ptr r) { arb_sub(r, a.x_, b.x_, precision_); }); }
  friend Ball operator*(const Ball& a, const Ball& b) { return make([&](arb_ptr r) { arb_mul(r, a.x_, b.x_, precision_); }); }
  friend Ball operator/(const Ball& a, const Ball& b) { return make([&](arb_ptr r) { arb_div(r, a.x_, b.x_, precision_); }); }
  friend Ball operator+(Ball&& a, const Ball& b) { return arb_add(a.x_, a.x_, b.x_, precision_), std::move(a); }
  friend Ball operator-(Ball&& a, const Ball& b) { return arb_sub(a.x_, a.x_, b.x_, precision_), std::move(a); }
  friend Ball operator*(Ball&& a, const Ball& b) { return arb_mul(a.x_, a.x_, b.x_, precision_), std::move(a); }
  friend Ball operator/(Ball&& a, const Ball& b) { return arb_div(a.x_, a.x_, b.x_, precision_), std::move(a); }
  Ball& operator+=(const Ball& b) { return arb_add(x_, x_, b.x_, precision_), *this; }

  friend Ball exp(const Ball& a) { return make([&](arb_ptr r) { arb_exp(r, a.x_, precision_); }); }
  friend Ball log(const Ball& a) { return make([&](arb_ptr r) { arb_log(r, a.x_, precision_); }); }
  friend Ball sqrt(const Ball& a) { return make([&](arb_ptr r) { arb_sqrt(r, a.x_, precision_); }); }
  friend Ball sin(const Ball& a) { return make([&](arb_ptr r) { arb_sin(r, a.x_, precision_); }); }
  friend Ball cos(const Ball& a) { return make([&](arb_ptr r) { arb_cos(r, a.x_, precision_); }); }

private:
  template <class F>
  static Ball make(F&& fill) {
    Ball result;
    fill(result.x_);
    return result;
  }

  arb_t x_;
  static inline thread_local slong precision_ = 128;
};

static_assert(sizeof(Ball) == sizeof(arb_struct));

/// Sets the precision of this thread's balls while it lives.
class BallPrecision {
public:
  explicit BallPrecision(slong bits) : before_(Ball::precision()) { Ball::set_precision(bits); }
  ~BallPrecision() { Ball::set_precision(before_); }
  BallPrecision(const BallPrecision&) = delete;
  BallPrecision& operator=(const BallPrecision&) = delete;

private:
  slong before_;
};

inline double approximate(const Ball& x) { return arf_get_d(arb_midref(x.get()), ARF_RND_NEAR); }

inline bool less(const Ball& x, const Ball& y) {
  if (arb_lt(x.get(), y.get())) return true;
  if (arb_ge(x.get(), y.get())) return false;
  throw Undecided("less");
}

inline bool positive(const Ball& x) {
  if (arb_is_positive(x.get())) return true;
  if (arb_is_nonpositive(x.get())) return false;
  throw Undecided("positive");
}

inline bool is_zero(const Ball& x) {
  if (arb_is_zero(x.get())) return true;
  if (!arb_contains_zero(x.get())) return false;
  throw Undecided("is_zero");
}

inline Ball pivot(const Ball& x) {
  Ball middle;
  arb_get_mid_arb(middle.get(), x.get());
  return middle;
}

/// The largest double below everything in the ball.
inline double margin_of(const Ball& gap) {
  arf_t low;
  arf_init(low);
  arb_get_lbound_arf(low, gap.get(), 53);
  const double margin = arf_get_d(low, ARF_RND_FLOOR);
  arf_clear(low);
  return margin;
}
inline double error_of(const Ball&) { return 0; }

template <>
class Sum<Ball> {
public:
  void add(const Ball& term) { total_ += term; }
  Ball result() && { return std::move(total_); }
  Ball result() const& { return total_; }

private:
  Ball total_;
};

template <>
struct Dot<Ball> {
  static Ball of(View<const Ball, 1> a, View<const Ball, 1> b) {
    Ball result;
    arb_dot(result.get(), nullptr, 0, a.data() ? a.data()->get() : nullptr, a.stride(0),
            b.data() ? b.data()->get() : nullptr, b.stride(0), a.extent(0), Ball::precision());
    return result;
  }
};

}  // namespace attest::reference
