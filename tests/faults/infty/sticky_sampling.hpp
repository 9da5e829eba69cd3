// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/sticky_sampling.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::sticky_sampling {

namespace right = attest::reference::infty::sticky_sampling;
using right::In;
using right::Out;

/// Phi(z(e_(b+1))) - Phi(z(e_b)), summed over densities.
template <class Z>
Vector histogram_by(const In& in, Index bins, Z&& z) {
  return right::histogram(bins, [&](Index b) {
    return sum(in.mu.extent(0), [&](Index i) {
      return right::distribution(z(i, right::edge(in, b + 1, bins))) -
             right::distribution(z(i, right::edge(in, b, bins)));
    });
  });
}
inline Vector histogram(const In& in, const Out& out) {
  return histogram_by(in, out.p.extent(0), [&](Index i, const Number& e) { return (e - in.mu(i)) / in.sigma(i); });
}
template <class Z>
void with_argument(const In& in, const Out& out, Z&& z) {
  right::write(in, out, histogram_by(in, out.p.extent(0), z));
}

/// The right histogram; a point from its bin, of the numbers in the given order.
template <class F>
void with_point(const Out& out, const Vector& p, const Vector& w, F&& point) {
  for (Index b = 0; b < p.extent(); ++b) out.p(b) = p(b);
  right::each_point(out, p, w, point);
}

inline void midpoint_density(const In& in, const Out& out) {
  const Index bins = out.p.extent(0);
  right::write(in, out, right::histogram(bins, [&](Index b) {
                 const Number middle = (right::edge(in, b, bins) + right::edge(in, b + 1, bins)) / 2;
                 return sum(in.mu.extent(0), [&](Index i) {
                   const Number z = (middle - in.mu(i)) / in.sigma(i);
                   return exp(-(z * z) / 2) / in.sigma(i);
                 });
               }));
}
inline void variance_as_std(const In& in, const Out& out) {
  with_argument(in, out, [&](Index i, const Number& e) { return (e - in.mu(i)) / (in.sigma(i) * in.sigma(i)); });
}
inline void std_of_variance(const In& in, const Out& out) {
  with_argument(in, out, [&](Index i, const Number& e) { return (e - in.mu(i)) / sqrt(in.sigma(i)); });
}
inline void width_drift(const In& in, const Out& out, const Number& c) {
  with_argument(in, out, [&](Index i, const Number& e) { return (e - in.mu(i)) / (in.sigma(i) * (1 + c)); });
}

inline Number left_end(const Out& out, Index b) { return rational(b, out.p.extent(0)); }
inline void unsorted(const In& in, const Out& out) {
  with_point(out, histogram(in, out), tabulate(in.w.extent(0), [&](Index j) { return in.w(j); }),
             [&](Index b) { return left_end(out, b); });
}
inline void descending(const In& in, const Out& out) {
  const auto w = right::ascending(in.w);
  with_point(out, histogram(in, out), tabulate(w.extent(), [&](Index j) { return w(w.extent() - 1 - j); }),
             [&](Index b) { return left_end(out, b); });
}
inline void divided_by_tau(const In& in, const Out& out) {
  with_point(out, histogram(in, out), right::ascending(in.w), [&](Index b) { return 2 * left_end(out, b); });
}
inline void right_edge(const In& in, const Out& out) {
  with_point(out, histogram(in, out), right::ascending(in.w), [&](Index b) { return left_end(out, b + 1); });
}
inline void middle_of_bin(const In& in, const Out& out) {
  with_point(out, histogram(in, out), right::ascending(in.w),
             [&](Index b) { return rational(2 * b + 1, 2 * out.p.extent(0)); });
}
inline void one_bin_late(const In& in, const Out& out) {
  const Index last = out.p.extent(0) - 1;
  with_point(out, histogram(in, out), right::ascending(in.w),
             [&](Index b) { return left_end(out, std::min(b + 1, last)); });
}
inline void uniform_points(const In& in, const Out& out) {
  with_point(out, histogram(in, out), right::ascending(in.w), [](Index) { return Number(0); });
  const auto w = right::ascending(in.w);
  for (Index j = 0; j < w.extent(); ++j) out.u(j) = w(j);
}

/// The shares divided by `total(sum of all)`.
template <class F>
void with_total(const In& in, const Out& out, F&& total) {
  const Index bins = out.p.extent(0);
  const auto shares = tabulate(bins, [&](Index b) {
    return sum(in.mu.extent(0), [&](Index i) {
      return right::distribution((right::edge(in, b + 1, bins) - in.mu(i)) / in.sigma(i)) -
             right::distribution((right::edge(in, b, bins) - in.mu(i)) / in.sigma(i));
    });
  });
  const Number by = total();
  right::write(in, out, tabulate(bins, [&](Index b) { return shares(b) / by; }));
}
inline void unnormalised(const In& in, const Out& out) {
  with_total(in, out, [] { return Number(1); });
}
inline void divided_by_count(const In& in, const Out& out) {
  with_total(in, out, [&] { return Number(in.mu.extent(0)); });
}

inline void first_density_only(In in, const Out& out) {
  const Number mu = in.mu(0), sigma = in.sigma(0);
  in.mu = Row(&mu, {1}), in.sigma = Row(&sigma, {1});
  right::cdf_difference(in, out);
}
inline void last_density_dropped(In in, const Out& out) {
  const Index fewer = std::max<Index>(in.mu.extent(0) - 1, 1);
  in.mu = in.mu.rows(0, fewer), in.sigma = in.sigma.rows(0, fewer);
  right::cdf_difference(in, out);
}
inline void outward_ignored(In in, const Out& out) {
  in.outward = 0;
  right::cdf_difference(in, out);
}
inline void ends_at_infinity(const In& in, const Out& out) {
  const Index bins = out.p.extent(0);
  right::write(in, out, right::histogram(bins, [&](Index b) {
                 return sum(in.mu.extent(0), [&](Index i) {
                   const auto below = [&](Index e) {
                     return right::distribution((right::edge(in, e, bins) - in.mu(i)) / in.sigma(i));
                   };
                   return (b + 1 == bins ? Number(1) : below(b + 1)) - (b == 0 ? Number(0) : below(b));
                 });
               }));
}

}  // namespace attest::faults::infty::sticky_sampling
