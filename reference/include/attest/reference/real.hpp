// SPDX-License-Identifier: MIT
#pragma once

#include <boost/multiprecision/mpfr.hpp>

namespace attest::reference {

/// The value reading in any precision: Boost.Multiprecision over MPFR, expression templates off so that `auto` is safe.
/// The working precision is Real::thread_default_precision (decimal digits).
using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

/// Sets Real's precision in bits for this thread while it lives.
class RealPrecision {
public:
  explicit RealPrecision(long bits) : before_(Real::thread_default_precision()) {
    Real::thread_default_precision(static_cast<unsigned>(static_cast<double>(bits) * 0.30103) + 1);
  }
  ~RealPrecision() { Real::thread_default_precision(before_); }
  RealPrecision(const RealPrecision&) = delete;
  RealPrecision& operator=(const RealPrecision&) = delete;

private:
  unsigned before_;
};

// The vocabulary's words for Real. Its name lives in Boost, so argument-dependent look-up does not find them here: they
// stand before the vocabulary, which includes this file.
inline double approximate(const Real& x) { return static_cast<double>(x); }
inline bool positive(const Real& x) { return x > 0; }
inline bool less(const Real& x, const Real& y) { return x < y; }
inline bool is_zero(const Real& x) { return x == 0; }
inline Real pivot(const Real& x) { return x; }
inline double margin_of(const Real& gap) { return approximate(gap); }
inline double error_of(const Real&) { return 0; }

}  // namespace attest::reference
