// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/gaussian_basis.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infty::gaussian_basis {

namespace right = attest::reference::infty::gaussian_basis;
using right::bump;
using right::In;
using right::Out;
using right::root_of_two_pi;

inline void unnormalised(In in, const Out& out) {
  in.normalised = false;
  right::direct(in, out);
}

inline void always_normalised(In in, const Out& out) {
  in.normalised = true;
  right::direct(in, out);
}

/// The equation with f(z, s) of densities; functions that are 1 at their centre have g(z, s).
template <class F, class G>
void with_function(const In& in, const Out& out, F&& f, G&& g) {
  right::each_element(in, out, [&](const Number& t, const Number& m, const Number& s) {
    const Number z = (t - m) / s;
    return in.normalised ? f(z, s) : g(z, s);
  });
}

/// With another factor of densities.
template <class F>
void with_factor(const In& in, const Out& out, F&& factor) {
  with_function(
      in, out, [&](const Number& z, const Number& s) { return bump(z) * factor(s); },
      [](const Number& z, const Number&) { return bump(z); });
}

/// With another e^(-z^2 / 2).
template <class F>
void with_bump(const In& in, const Out& out, F&& f) {
  with_function(
      in, out, [&](const Number& z, const Number& s) { return f(z) / (s * root_of_two_pi); },
      [&](const Number& z, const Number&) { return Number(f(z)); });
}

/// With mu_k = f(k).
template <class F>
void with_centres(In in, const Out& out, F&& f) {
  const auto mu = tabulate(out.psi.extent(0), f);
  in.mu = mu.view();
  right::direct(in, out);
}

inline void width_factor_missing(const In& in, const Out& out) {
  with_factor(in, out, [](const Number&) { return 1 / root_of_two_pi; });
}

inline void sqrt_pi(const In& in, const Out& out) {
  with_factor(in, out, [](const Number& s) { return 1 / (s * sqrt(pi())); });
}

inline void factor_squared(const In& in, const Out& out) {
  with_factor(in, out, [](const Number& s) { return 1 / (s * s * 2 * pi()); });
}

inline void variance_as_std(In in, const Out& out) {
  const auto s = tabulate(in.s.extent(0), [&](Index k) { return sqrt(in.s(k)); });
  in.s = s.view();
  right::direct(in, out);
}

inline void missing_half(const In& in, const Out& out) {
  with_bump(in, out, [](const Number& z) { return exp(-(z * z)); });
}

inline void distance_not_squared(const In& in, const Out& out) {
  with_bump(in, out, [](const Number& z) { return exp((positive(z) ? -z : z) / 2); });
}

inline void floored_exponent(const In& in, const Out& out) {
  with_bump(in, out, [](const Number& z) {
    const Number x = -(z * z) / 2;
    return exp(less(x, Number(-64)) ? Number(-64) : x);
  });
}

inline void exponent_drift(const In& in, const Out& out, const Number& c) {
  with_bump(in, out, [&](const Number& z) { return exp(-(z * z) / 2 * (1 + c)); });
}

inline void grid_without_endpoint(const In& in, const Out& out) {
  const Index b = out.psi.extent(0), w = in.s.extent(0);
  with_centres(in, out, [&](Index k) { return in.mu ? in.mu(k) : rational(k / w, b / w); });
}

inline void cartesian_count(const In& in, const Out& out) {
  const Index b = out.psi.extent(0), w = in.s.extent(0);
  with_centres(in, out, [&](Index k) { return in.mu ? in.mu(k) : b == 1 ? Number(0) : rational(k / w, b - 1); });
}

inline void widths_first(const In& in, const Out& out) {
  const Index b = out.psi.extent(0), w = in.s.extent(0), groups = b / w;
  if (in.mu) return right::direct(in, out);
  for (Index k = 0; k < b; ++k) {
    const Number m = right::centre(in, out, k % groups * w), s = in.s(k / groups);
    for (Index l = 0; l < in.t.extent(0); ++l) out.psi(k, l) = right::basis_function(in.t(l), m, s, in.normalised);
  }
}

inline void one_width(In in, const Out& out) {
  const auto s = tabulate(in.s.extent(0), [&](Index) { return in.s(0); });
  in.s = s.view();
  right::direct(in, out);
}

inline void centres_ignored(In in, const Out& out) {
  in.mu = {};
  right::direct(in, out);
}

inline void last_function_dropped(const In& in, const Out& out) {
  right::direct(in, out);
  const Index b = out.psi.extent(0);
  if (b % 2 == 1)
    for (Index l = 0; l < in.t.extent(0); ++l) out.psi(b - 1, l) = 0;
}

}  // namespace attest::faults::infty::gaussian_basis
