// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/density_kl.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::density_kl {

namespace right = attest::reference::objective::density_kl;
using right::In;
using right::of_ratio;
using right::Out;

/// The sum of f(rho) over the queries.
template <class F>
void with_ratio(const In& in, const Out& out, F&& f) {
  right::total(in, out, [&](const Number& v) { return f(v / right::prior(in)); });
}

inline void reversed(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return of_ratio(1 / rho); });
}

inline void std_ratio(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return of_ratio(sqrt(rho)); });
}

inline void half_missing(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return 2 * of_ratio(rho); });
}

inline void log_sign(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return (rho + log(rho) - 1) / 2; });
}

inline void one_missing(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return (rho - log(rho)) / 2; });
}

inline void prior_not_squared(const In& in, const Out& out) {
  right::total(in, out, [&](const Number& v) { return of_ratio(v / parameter(in.sigma_0)); });
}

inline void sigma_0_ignored(const In& in, const Out& out) {
  In other = in;
  other.sigma_0 = 0.05;
  right::closed(other, out);
}

inline void mean(const In& in, const Out& out) {
  right::closed(in, out);
  out.divergence() = out.divergence() / Number(in.variance.extent(0));
}

/// The first queries alone.
inline void first(const In& in, const Out& out, Index count) {
  In part = in;
  part.variance = in.variance.rows(0, count);
  right::closed(part, out);
}

inline void last_dropped(const In& in, const Out& out) {
  first(in, out, std::max<Index>(0, in.variance.extent(0) - 1));
}

inline void tail_dropped(const In& in, const Out& out) { first(in, out, in.variance.extent(0) / 8 * 8); }

inline void log_of_std(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return (rho - log(rho) / 2 - 1) / 2; });
}

inline void base2(const In& in, const Out& out) {
  with_ratio(in, out, [](const Number& rho) { return (rho - log(rho) / ln2() - 1) / 2; });
}

inline void variance_drift(const In& in, const Out& out, const Number& c) {
  with_ratio(in, out, [&](const Number& rho) { return of_ratio(rho * (Number(1) + c)); });
}

}  // namespace attest::faults::objective::density_kl
