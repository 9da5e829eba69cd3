// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/rotary.hpp"

namespace attest::reference::positional::rotary {

using attest::spec::positional::rotary::In;
using attest::spec::positional::rotary::Out;

/// The coordinates of pair m.
template <class I>
std::pair<Index, Index> pair_of(const I& in, Index m) {
  const Index d = in.x.extent(1);
  return in.pairing == "half" ? std::pair(m, m + d / 2) : std::pair(2 * m, 2 * m + 1);
}

/// theta_m = base^(-2m/d)
template <class T, class I>
T theta(const I& in, Index m) {
  if (m == 0) return T(1);
  return exp(-(T(2 * m) / T(in.x.extent(1))) * log(T(in.base)));  // C2
}

template <class T>
struct Turn {
  T cosine, sine;
};

template <class T, class I>
Turn<T> turn(const I& in, Index position, Index m) {
  if (position == 0) return {T(1), T(0)};
  const T angle = T(position) * theta<T>(in, m);
  return {cos(angle), sin(angle)};
}

/// (x_a, x_b) turned: two products each
template <class T>
std::pair<T, T> turned(const Turn<T>& r, const T& a, const T& b) {
  const Vector<T> x = tabulate(2, [&](Index t) { return t == 0 ? a : b; });
  const Vector<T> first = tabulate(2, [&](Index t) { return t == 0 ? r.cosine : T(-r.sine); });
  const Vector<T> second = tabulate(2, [&](Index t) { return t == 0 ? r.sine : r.cosine; });
  return {dot<T>(x, first), dot<T>(x, second)};
}

template <class T, class F>
void each_pair(const In<T>& in, const Out<T>& out, F&& rotate) {
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index m = 0; m < in.x.extent(1) / 2; ++m) {  // C1
      const auto [a, b] = pair_of(in, m);
      const auto [y_a, y_b] = rotate(i, m, T(in.x(i, a)), T(in.x(i, b)));
      out.y(i, a) = y_a;
      out.y(i, b) = y_b;
    }
}

/// y_a = x_a cos(p theta_m) - x_b sin(p theta_m), y_b = x_a sin(p theta_m) + x_b cos(p theta_m)   [Su et al. 2021, eq. 15]
template <class T>
void pairs(const In<T>& in, const Out<T>& out) {
  each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) { return turned(turn<T>(in, in.positions(i), m), a, b); });
}

/// y_i = R_p x_i with the whole block-diagonal matrix
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1);
  for (Index i = 0; i < in.x.extent(0); ++i) {
    Matrix<T> R(d, d);
    for (Index m = 0; m < d / 2; ++m) {
      const auto [a, b] = pair_of(in, m);
      const auto r = turn<T>(in, in.positions(i), m);
      R(a, a) = R(b, b) = r.cosine;
      R(a, b) = -r.sine;
      R(b, a) = r.sine;
    }
    for (Index a = 0; a < d; ++a) out.y(i, a) = dot<T>(R[a], in.x[i]);
  }
}

/// (x_a + i x_b) e^(i p theta_m), the product of complex numbers in three multiplications
template <class T>
void complex(const In<T>& in, const Out<T>& out) {
  each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) {
    const auto r = turn<T>(in, in.positions(i), m);
    const T ac = a * r.cosine, bs = b * r.sine, all = (a + b) * (r.cosine + r.sine);
    return std::pair(T(ac - bs), T(all - ac - bs));
  });
}

/// x cos + rot(x) sin, rot(x) being (-x_b, x_a)
template <class T>
void rotate_half(const In<T>& in, const Out<T>& out) {
  each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) {
    const auto r = turn<T>(in, in.positions(i), m);
    return std::pair(T(a * r.cosine + (-b) * r.sine), T(b * r.cosine + a * r.sine));
  });
}

/// R_(p-1), then R_1
template <class T>
void composed(const In<T>& in, const Out<T>& out) {
  each_pair(in, out, [&](Index i, Index m, const T& a, const T& b) {
    const auto [c, e] = turned(turn<T>(in, in.positions(i) - 1, m), a, b);
    return turned(turn<T>(in, 1, m), c, e);
  });
}

}  // namespace attest::reference::positional::rotary
