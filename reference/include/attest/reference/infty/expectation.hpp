// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infty/gaussian_basis.hpp"
#include "attest/spec/infty/expectation.hpp"

namespace attest::reference::infty::expectation {

using In = attest::spec::infty::expectation::In<Number>;
using Out = attest::spec::infty::expectation::Out<Number>;
using attest::spec::infty::expectation::Domain;
using gaussian_basis::root_of_two_pi;

/// Phi(x) = erfc(-x / sqrt(2)) / 2
inline const Constant root_of_two([] { return sqrt(Number(2)); });
inline Number distribution(const Number& x) { return erfc(-x / root_of_two) / 2; }

/// A Gaussian: mean and variance.
struct Normal {
  Number mean, variance;
};

/// N(x; m, v)
inline Number density(const Number& x, const Normal& of) {
  const Number d = x - of.mean, deviation = sqrt(of.variance);
  return stage("exponentials", exp(stage("exponent", -(d * d) / (2 * of.variance)))) / (deviation * root_of_two_pi);
}

/// The Gaussian that N(t; p) N(t; q) is a multiple of.
inline Normal product_of(const Normal& p, const Normal& q) {
  const Number sum = p.variance + q.variance;
  return {stage("means of products", (p.mean * q.variance + q.mean * p.variance) / sum),
          stage("variances of products", p.variance * q.variance / sum)};
}

/// The probability of [0, 1].
inline Number share_inside(const Normal& of) {
  const Number deviation = sqrt(of.variance);
  return stage("shares", distribution((1 - of.mean) / deviation) - distribution(-of.mean / deviation));
}

/// Whether a point is none of the domain's.
template <class D>
bool is_outside(const Number& mu, D domain) {
  return domain != D::real_line && (less(mu, Number(0)) || less(Number(1), mu));
}

/// E[psi(t)], t ~ N(mu, sigma2), of a basis function with centre c and width s: N(mu; c, sigma2 + s^2), and the share
/// of the product that lies inside. A density without variance is a point, with all of its share on one side; beside it
/// the share is off by less than any power of sigma2, so that the derivative is that of N alone.
template <class D>
Number expected(const Number& mu, const Number& sigma2, const Number& c, const Number& s, D domain, bool normalised) {
  const Number square = s * s;
  Number r = density(mu, {c, stage("variances", sigma2 + square)});
  if (!normalised) r = r * (s * root_of_two_pi);
  if (domain == D::real_line) return r;
  if (is_zero(sigma2)) return is_outside(mu, domain) ? Number(0) : r;
  return r * share_inside(product_of({mu, sigma2}, {c, square}));
}

/// r_ik = f(mu_i, sigma2_i, c_k, s_k)
template <class F>
void each_element(const In& in, const Out& out, F&& f) {
  for (const Index i : wanted(out.r))
    for (Index k = 0; k < in.c.extent(0); ++k) out.r(i, k) = Number(f(in.mu(i), in.sigma2(i), in.c(k), in.s(k)));
}

/// r_ik = N(mu_i; c_k, sigma2_i + s_k^2)      [Martins et al. 2021, eq. 8]
inline void closed(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    return expected(mu, sigma2, c, s, in.domain, in.normalised);
  });
}

/// h sum_j f(m + j h) over 25 standard deviations of `of` on either side, four steps to one: for a multiple of that
/// Gaussian the rule is off by a factor 1 + 2 e^(-32 pi^2) (Poisson's formula), and e^(-312) is left out at the ends.
template <class F>
Number trapezoidal(const Normal& of, F&& f) {
  constexpr Index side = 100;
  const Number step = sqrt(of.variance) / 4;
  return step * sum(2 * side + 1, [&](Index j) { return Number(f(of.mean + (j - side) * step)); });
}

/// The integral of the density times the basis function, each as it is.
inline void quadrature(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& mu, const Number& sigma2, const Number& c, const Number& s) {
    const auto psi = [&](const Number& t) { return gaussian_basis::basis_function(t, c, s, in.normalised); };
    if (is_zero(sigma2)) return psi(mu);
    return trapezoidal(product_of({mu, sigma2}, {c, s * s}),
                       [&](const Number& t) { return density(t, {mu, sigma2}) * psi(t); });
  });
}

}  // namespace attest::reference::infty::expectation
