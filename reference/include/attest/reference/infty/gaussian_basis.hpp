// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/infty/gaussian_basis.hpp"

namespace attest::reference::infty::gaussian_basis {

using In = attest::spec::infty::gaussian_basis::In<Number>;
using Out = attest::spec::infty::gaussian_basis::Out<Number>;

inline const Constant root_of_two_pi([] { return sqrt(2 * pi()); });

/// e^(-x^2 / 2)
inline Number bump(const Number& x) { return stage("exponentials", exp(stage("exponent", -(x * x) / 2))); }

/// N(t; m, s^2), or that times s sqrt(2 pi)
inline Number basis_function(const Number& t, const Number& m, const Number& s, bool normalised) {
  const Number z = (t - m) / s;
  return normalised ? bump(z) / (s * root_of_two_pi) : bump(z);
}

/// Centre k of b where w functions share each: given, or equidistant from 0 to 1.
inline Number centre(const Row& given, Index k, Index b, Index w) {
  if (given) return given(k);
  return b == w ? Number(0) : rational(k / w, b / w - 1);  // C1
}

inline Number centre(const In& in, const Out& out, Index k) {
  return centre(in.mu, k, out.psi.extent(0), in.s.extent(0));
}

/// The width of function k.
inline Number width(const Row& s, Index k) { return s(k % s.extent(0)); }

/// psi_kl = f(t_l, mu_k, s_k)
template <class F>
void each_element(const In& in, const Out& out, F&& f) {
  for (const Index k : wanted(out.psi)) {
    const Number m = centre(in, out, k), s = width(in.s, k);
    for (Index l = 0; l < in.t.extent(0); ++l) out.psi(k, l) = f(in.t(l), m, s);
  }
}

/// psi_kl = N(t_l; mu_k, s_k^2)      [Martins et al. 2021, section 3.1]
inline void direct(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& t, const Number& m, const Number& s) {
    return basis_function(t, m, s, in.normalised);
  });
}

/// The factor as a part of the exponent.
inline void log(const In& in, const Out& out) {
  for (const Index k : wanted(out.psi)) {
    const Number m = centre(in, out, k), s = width(in.s, k);
    const Number log_factor = in.normalised ? reference::log(s * root_of_two_pi) : Number(0);
    for (Index l = 0; l < in.t.extent(0); ++l) {
      const Number d = in.t(l) - m;
      out.psi(k, l) = exp(stage("exponent", -(d * d) / (2 * s * s) - log_factor));
    }
  }
}

/// psi_k from its neighbour j of the same width: times e^((mu_k - mu_j) (t - (mu_j + mu_k) / 2) / s^2)
inline void recurrence(const In& in, const Out& out) {
  const auto [b, n] = out.psi.extents();
  const Index w = in.s.extent(0);
  Matrix psi(b, n);
  for (Index k = 0; k < b; ++k) {
    const Number m = centre(in, out, k), s = width(in.s, k);
    for (Index l = 0; l < n; ++l) {
      if (k < w) {
        psi(k, l) = basis_function(in.t(l), m, s, in.normalised);
      } else {
        const Number before = centre(in, out, k - w);
        psi(k, l) = psi(k - w, l) * exp((m - before) * (in.t(l) - (before + m) / 2) / (s * s));
      }
    }
  }
  for (const Index k : wanted(out.psi))
    for (Index l = 0; l < n; ++l) out.psi(k, l) = psi(k, l);
}

}  // namespace attest::reference::infty::gaussian_basis
