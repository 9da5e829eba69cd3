// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/ltt_threshold.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::ltt_threshold {

namespace right = attest::reference::adaptive::ltt_threshold;
using right::In;
using right::Out;

/// How many candidates are accepted.
inline Index accepted(const In& in, const Vector& p) {
  return right::first_failure(p.extent(), [&](Index k) { return right::reaches(parameter(in.eps), p(k)); });
}

/// Another choice from the number of those that are accepted.
template <class F>
void with_choice(const In& in, const Out& out, F&& chosen) {
  const auto p = right::p_values(in);
  right::write(out, p);
  right::choose(in, out, chosen(accepted(in, p)));
}
inline void one_fewer(const In& in, const Out& out) {
  with_choice(in, out, [](Index count) { return std::max<Index>(count - 1, 0); });
}
inline void first_failure_included(const In& in, const Out& out) {
  with_choice(in, out, [&](Index count) { return std::min(count + 1, in.candidates.extent(0)); });
}
inline void skip_failures(const In& in, const Out& out) {
  const auto p = right::p_values(in);
  right::write(out, p);
  Index last = 0;
  for (Index k = 0; k < p.extent(); ++k)
    if (right::reaches(parameter(in.eps), p(k))) last = k + 1;
  right::choose(in, out, last);
}
inline void largest_accepted(const In& in, const Out& out) {
  right::sequential(in, out);
  if (approximate(out.accepted()) > 0) out.threshold() = in.candidates(0);
}
inline void none_means_first(const In& in, const Out& out) {
  right::sequential(in, out);
  if (approximate(out.accepted()) == 0) out.threshold() = in.candidates(0);
}
inline void none_means_zero(const In& in, const Out& out) {
  right::sequential(in, out);
  if (approximate(out.accepted()) == 0) out.threshold() = Number(0);
}

/// Another p from the gap.
template <class F>
void with_p(const In& in, const Out& out, F&& p) {
  right::by_p(in, out, tabulate(in.losses.extent(0), [&](Index k) { return p(right::gap(in, k)); }));
}
inline Number samples(const In& in) { return Number(in.losses.extent(1)); }

inline void two_sided(const In& in, const Out& out) {
  with_p(in, out, [&](const Number& gap) { return 2 * exp(-right::exponent(in, gap)); });
}
inline void unsquared_gap(const In& in, const Out& out) {
  with_p(in, out, [&](const Number& gap) { return exp(-(2 * samples(in) * gap)); });
}
inline void factor_two_missing(const In& in, const Out& out) {
  with_p(in, out, [&](const Number& gap) { return exp(-(samples(in) * gap * gap)); });
}
inline void samples_ignored(const In& in, const Out& out) {
  with_p(in, out, [](const Number& gap) { return exp(-(2 * gap * gap)); });
}
inline void gap_drift(const In& in, const Out& out, const Number& c) {
  with_p(in, out, [&](const Number& gap) { return exp(-right::exponent(in, gap * (1 + c))); });
}

/// Another gap from the sum of the losses.
template <class F>
void with_gap(const In& in, const Out& out, F&& gap) {
  right::by_p(in, out, tabulate(in.losses.extent(0), [&](Index k) {
                return exp(-right::exponent(in, gap(sum(in.losses[k]))));
              }));
}
inline Number clipped(const Number& x) { return positive(x) ? x : Number(0); }
inline void sign_reversed(const In& in, const Out& out) {
  with_gap(in, out, [&](const Number& total) { return clipped(total / samples(in) - parameter(in.delta)); });
}
inline void negative_gap_squared(const In& in, const Out& out) {
  with_gap(in, out, [&](const Number& total) { return parameter(in.delta) - total / samples(in); });
}
inline void sum_not_mean(const In& in, const Out& out) {
  with_gap(in, out, [&](const Number& total) { return clipped(parameter(in.delta) - total); });
}

/// The equation with other parameters, or of other losses.
inline void bonferroni(In in, const Out& out) {
  in.eps /= static_cast<double>(in.candidates.extent(0));
  right::sequential(in, out);
}
inline void delta_ignored(In in, const Out& out) {
  in.delta = 0.5;
  right::sequential(in, out);
}
inline void eps_ignored(In in, const Out& out) {
  in.eps = 0.1;
  right::sequential(in, out);
}
inline void exchanged(In in, const Out& out) {
  std::swap(in.delta, in.eps);
  right::sequential(in, out);
}
inline void last_sample_dropped(In in, const Out& out) {
  in.losses = in.losses.columns(0, std::max<Index>(in.losses.extent(1) - 1, 1));
  right::sequential(in, out);
}

}  // namespace attest::faults::adaptive::ltt_threshold
