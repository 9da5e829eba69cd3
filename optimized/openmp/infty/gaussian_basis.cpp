// SPDX-License-Identifier: MIT
#include "attest/spec/infty/gaussian_basis.hpp"

#include <cmath>

#include "attest/openmp/engine/rows.hpp"
#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::gaussian_basis {

using attest::spec::infty::gaussian_basis::In;
using attest::spec::infty::gaussian_basis::Out;

/// A row of exponents e^.. at a time; `exponent(d, s)` of a distance d, the result times factor(s).
template <class T, class E, class F>
void rows(const In<T>& in, const Out<T>& out, E&& exponent, F&& factor) {
  const Index b = out.psi.extent(0), n = out.psi.extent(1);
  each_tile(b, [&](Index first, Index count) {
    Column<T> row(n);
    for (Index k = first; k < first + count; ++k) {
      const T m = centre<T>(in.mu, k, b, in.s.extent(0)), s = width<T>(in.s, k);
      for (Index l = 0; l < n; ++l) row(l) = exponent(in.t(l) - m, s);
      engine::map(engine::Feature::exp, row.data(), n);
      vector(out.psi[k]) = row * factor(s);
    }
  });
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  rows(
      in, out, [](T d, T s) { return -(d / s) * (d / s) / 2; },
      [&](T s) { return in.normalised ? kInverseRootOfTwoPi<T> / s : T(1); });
}

/// The factor is a part of the exponent.
template <class T>
void log(const In<T>& in, const Out<T>& out) {
  rows(
      in, out,
      [&](T d, T s) { return -(d * d) / (2 * s * s) - (in.normalised ? std::log(s / kInverseRootOfTwoPi<T>) : T(0)); },
      [](T) { return T(1); });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void log(const In<float>&, const Out<float>&);
template void log(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::gaussian_basis
