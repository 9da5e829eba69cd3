// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/reference/infty/expectation.hpp"
#include "attest/spec/infty/sticky_sampling.hpp"

namespace attest::reference::infty::sticky_sampling {

using In = attest::spec::infty::sticky_sampling::In<Number>;
using Out = attest::spec::infty::sticky_sampling::Out<Number>;
using expectation::distribution;
using expectation::root_of_two;

/// e_b = b / bins, the outer ones moved.
inline Number edge(const In& in, Index b, Index bins) {
  const Number e = rational(b, bins), outward = parameter(in.outward);  // C1
  return b == 0 ? e - outward : b == bins ? e + outward : e;
}

/// p_b = shares(b) / sum
template <class F>
Vector histogram(Index bins, F&& shares) {
  const auto all = stage("shares", tabulate(bins, shares));
  const Number total = stage("total", sum(all));
  return tabulate(bins, [&](Index b) { return all(b) / total; });
}

/// The numbers in ascending order.
inline Vector ascending(const Row& w) {
  auto sorted = tabulate(w.extent(0), [&](Index j) { return w(j); });
  if (sorted.extent() > 0)
    std::sort(&sorted(0), &sorted(0) + sorted.extent(),
              [](const Number& x, const Number& y) { return approximate(x) < approximate(y); });
  return sorted;
}

/// The bin of each number: the first whose cumulative share exceeds it.
template <class F>
void each_point(const Out& out, const Vector& p, const Vector& w, F&& point) {
  const Index bins = p.extent();
  const auto cumulative =
      stage("cumulative shares", tabulate(bins, [&](Index b) { return sum(b + 1, [&](Index j) { return p(j); }); }));
  for (const Index j : wanted(out.u)) out.u(j) = point(first_above(w(j), cumulative));
}

inline void write(const In& in, const Out& out, const Vector& p) {
  for (const Index b : wanted(out.p)) out.p(b) = p(b);
  each_point(out, p, ascending(in.w), [&](Index b) { return rational(b, p.extent()); });
}

/// p_b from Phi at the ends of all bins      [Martins et al. 2021, section 3.3]
inline void cdf_difference(const In& in, const Out& out) {
  const Index n = in.mu.extent(0), bins = out.p.extent(0);
  Matrix below(n, bins + 1);
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b <= bins; ++b) below(i, b) = distribution((edge(in, b, bins) - in.mu(i)) / in.sigma(i));
  write(in, out,
        histogram(bins, [&](Index b) { return sum(n, [&](Index i) { return below(i, b + 1) - below(i, b); }); }));
}

/// The share of a bin as a difference of two tails, below the mean or above it; around the mean all but both tails.
inline void erfc(const In& in, const Out& out) {
  const Index n = in.mu.extent(0), bins = out.p.extent(0);
  const auto tail = [](const Number& z) { return reference::erfc(z / root_of_two) / 2; };
  write(in, out, histogram(bins, [&](Index b) {
          const Number low = edge(in, b, bins), high = edge(in, b + 1, bins);
          return sum(n, [&](Index i) {
            const Number from = (low - in.mu(i)) / in.sigma(i), to = (high - in.mu(i)) / in.sigma(i);
            if (approximate(from) >= 0) return tail(from) - tail(to);
            if (approximate(to) <= 0) return tail(-to) - tail(-from);
            return 1 - (tail(-from) + tail(to));
          });
        }));
}

}  // namespace attest::reference::infty::sticky_sampling
