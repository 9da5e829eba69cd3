// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/expectation.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::expectation {

namespace right = attest::reference::infty::expectation;
using right::Domain;
using right::In;
using right::Out;

/// f where there is a variance, the equation where there is none.
template <class F>
void each_spread(const In& in, const Out& out, F&& f) {
  right::each_element(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    return is_zero(sigma2) ? right::expected(mu, sigma2, c, s, in.domain, in.normalised) : Number(f(mu, sigma2, c, s));
  });
}

/// The equation with another variance in place of sigma2 + s^2; the share inside as it is.
template <class F>
void with_variance(const In& in, const Out& out, F&& variance) {
  each_spread(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    Number r = right::density(mu, {c, variance(sigma2, s)});
    if (!in.normalised) r = r * (s * right::root_of_two_pi);
    return in.domain == Domain::real_line ? r : r * right::share_inside(right::product_of({mu, sigma2}, {c, s * s}));
  });
}

/// With another share inside.
template <class F>
void with_share(const In& in, const Out& out, F&& share) {
  each_spread(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    const Number r = right::expected(mu, sigma2, c, s, Domain::real_line, in.normalised);
    return in.domain == Domain::real_line ? r : r * share(right::Normal{mu, sigma2}, right::Normal{c, s * s});
  });
}

inline void std_added(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& sigma2, const Number& s) {
    const Number sum = sqrt(sigma2) + s;
    return sum * sum;
  });
}
inline void product_variance(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& sigma2, const Number& s) { return sigma2 * s * s / (sigma2 + s * s); });
}
inline void basis_variance_missing(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& sigma2, const Number&) { return sigma2; });
}
inline void density_variance_missing(const In& in, const Out& out) {
  with_variance(in, out, [](const Number&, const Number& s) { return s * s; });
}
inline void variance_as_std(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& sigma2, const Number& s) { return sigma2 * sigma2 + s * s; });
}
inline void width_as_variance(const In& in, const Out& out) {
  with_variance(in, out, [](const Number& sigma2, const Number& s) { return sigma2 + s; });
}

inline void point_kept_outside(const In& in, const Out& out) {
  right::closed(in, out);
  for (const Index i : wanted(out.r))
    for (Index k = 0; k < in.c.extent(0); ++k)
      if (is_zero(in.sigma2(i)))
        out.r(i, k) = right::expected(in.mu(i), in.sigma2(i), in.c(k), in.s(k), Domain::real_line, in.normalised);
}

inline void unnormalised_basis(In in, const Out& out) {
  in.normalised = false;
  right::closed(in, out);
}
inline void always_normalised(In in, const Out& out) {
  in.normalised = true;
  right::closed(in, out);
}
inline void truncated_silently(In in, const Out& out) {
  in.domain = Domain::unit_interval;
  right::closed(in, out);
}
inline void not_truncated(In in, const Out& out) {
  in.domain = Domain::real_line;
  right::closed(in, out);
}

inline void one_end_only(const In& in, const Out& out) {
  with_share(in, out, [](const right::Normal& p, const right::Normal& q) {
    const auto both = right::product_of(p, q);
    return 1 - right::distribution(-both.mean / sqrt(both.variance));
  });
}
inline void share_of_density(const In& in, const Out& out) {
  with_share(in, out, [](const right::Normal& p, const right::Normal&) { return right::share_inside(p); });
}
inline void distribution_by_tanh(const In& in, const Out& out) {
  with_share(in, out, [](const right::Normal& p, const right::Normal& q) {
    const auto both = right::product_of(p, q);
    const Number deviation = sqrt(both.variance), slope = rational(1702, 1000);
    return sigmoid(slope * (1 - both.mean) / deviation) - sigmoid(-slope * both.mean / deviation);
  });
}

inline void clamped_unasked(In in, const Out& out) {
  const auto sigma2 = tabulate(in.sigma2.extent(0), [&](Index i) {
    const Number least = rational(1, 10000);
    return less(in.sigma2(i), least) ? least : in.sigma2(i);
  });
  in.sigma2 = sigma2.view();
  right::closed(in, out);
}

inline void normalised_to_one(const In& in, const Out& out) {
  right::closed(in, out);
  for (Index i = 0; i < in.mu.extent(0); ++i) {
    const Number total = sum(View<const Number, 2>(out.r)[i]);
    for (Index k = 0; k < in.c.extent(0); ++k) out.r(i, k) = out.r(i, k) / total;
  }
}

inline void missing_half(const In& in, const Out& out) {
  each_spread(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    const Number r = right::expected(mu, sigma2, c, s, in.domain, in.normalised), d = mu - c;
    return r * exp(-(d * d) / (2 * (sigma2 + s * s)));
  });
}

inline void last_function_dropped(const In& in, const Out& out) {
  right::closed(in, out);
  const Index b = in.c.extent(0);
  if (b % 2 == 1)
    for (Index i = 0; i < in.mu.extent(0); ++i) out.r(i, b - 1) = 0;
}

inline void variance_drift(const In& in, const Out& out, const Number& c) {
  each_spread(in, out, [&](const Number& mu, const Number& sigma2, const Number& centre, const Number& s) {
    return right::expected(mu, sigma2 * (1 + c), centre, s, in.domain, in.normalised);
  });
}

}  // namespace attest::faults::infty::expectation
