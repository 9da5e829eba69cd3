// SPDX-License-Identifier: MIT
#include "attest/spec/positional/rotary.hpp"

#include <cmath>
#include <complex>
#include <vector>

#include "attest/openmp/waves.hpp"

namespace attest::openmp::positional::rotary {

using attest::spec::positional::rotary::In;
using attest::spec::positional::rotary::Out;
using attest::spec::positional::rotary::Pairing;

template <class T>
std::pair<Index, Index> pair_of(const In<T>& in, Index m) {
  const Index d = in.x.extent(1);
  return in.pairing == Pairing::half ? std::pair(m, m + d / 2) : std::pair(2 * m, 2 * m + 1);
}

/// Calls rotate(i, m, cos, sin) for every token and pair, tokens in parallel.
template <class T, class F>
void each_pair(const In<T>& in, F&& rotate) {
  const Index n = in.x.extent(0), d = in.x.extent(1);
  const Column<Wide<T>> theta = frequencies<T>(in.base, d / 2, static_cast<Wide<T>>(d) / 2);
#pragma omp parallel for schedule(static) if (n > 64)
  for (Index i = 0; i < n; ++i)
    for (Index m = 0; m < theta.size(); ++m) {
      const Wide<T> angle = static_cast<Wide<T>>(in.positions(i)) * theta(m);
      rotate(i, m, static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle)));
    }
}

/// Two products per coordinate.
template <class T>
void pairs(const In<T>& in, const Out<T>& out) {
  each_pair(in, [&](Index i, Index m, T cosine, T sine) {
    const auto [a, b] = pair_of(in, m);
    const T x_a = in.x(i, a), x_b = in.x(i, b);
    out.y(i, a) = x_a * cosine - x_b * sine;
    out.y(i, b) = x_a * sine + x_b * cosine;
  });
}

/// The matrix R_p itself: slow; the other forms are shortcuts for it.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), d = in.x.extent(1);
  std::vector<RowMajor<T>> R(static_cast<std::size_t>(n), RowMajor<T>::Zero(d, d));
  each_pair(in, [&](Index i, Index m, T cosine, T sine) {
    const auto [a, b] = pair_of(in, m);
    auto& mine = R[static_cast<std::size_t>(i)];
    mine(a, a) = mine(b, b) = cosine;
    mine(a, b) = -sine;
    mine(b, a) = sine;
  });
  for (Index i = 0; i < n; ++i) vector(out.y[i]) = R[static_cast<std::size_t>(i)] * vector(in.x[i]);
}

/// Each pair a complex number.
template <class T>
void complex(const In<T>& in, const Out<T>& out) {
  each_pair(in, [&](Index i, Index m, T cosine, T sine) {
    const auto [a, b] = pair_of(in, m);
    const std::complex<T> turned = std::complex<T>(in.x(i, a), in.x(i, b)) * std::complex<T>(cosine, sine);
    out.y(i, a) = turned.real();
    out.y(i, b) = turned.imag();
  });
}

/// x cos + rot(x) sin over whole rows: cosines and sines are laid out like x, rot(x) is x with its pairs turned by 90
/// degrees.
template <class T>
void rotate_half(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), d = in.x.extent(1);
  RowMajor<T> cosines(n, d), sines(n, d), turned(n, d);
  each_pair(in, [&](Index i, Index m, T cosine, T sine) {
    const auto [a, b] = pair_of(in, m);
    cosines(i, a) = cosines(i, b) = cosine;
    sines(i, a) = sines(i, b) = sine;
    turned(i, a) = -in.x(i, b);
    turned(i, b) = in.x(i, a);
  });
  openmp::matrix(out.y) = openmp::matrix(in.x).cwiseProduct(cosines) + turned.cwiseProduct(sines);
}

template void pairs(const In<float>&, const Out<float>&);
template void pairs(const In<double>&, const Out<double>&);
template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);
template void complex(const In<float>&, const Out<float>&);
template void complex(const In<double>&, const Out<double>&);
template void rotate_half(const In<float>&, const Out<float>&);
template void rotate_half(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::rotary
