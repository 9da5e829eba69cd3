// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/rotary.hpp"

namespace attest::reference::positional::rotary {

using In = attest::spec::positional::rotary::In<Number>;
using Out = attest::spec::positional::rotary::Out<Number>;
using attest::spec::positional::rotary::Pairing;

/// The coordinates of pair m.
template <class I>
std::pair<Index, Index> pair_of(const I& in, Index m) {
  const Index d = in.x.extent(1);
  return in.pairing == Pairing::half ? std::pair(m, m + d / 2) : std::pair(2 * m, 2 * m + 1);
}

/// theta_m = base^(-2m/d)
template <class I>
Number theta(const I& in, Index m) {
  if (m == 0) return Number(1);
  return exp(-(Number(2 * m) / Number(in.x.extent(1))) * log(parameter(in.base)));  // C2
}

struct Turn {
  Number cosine, sine;
};

template <class I>
Turn turn(const I& in, Index position, Index m) {
  if (position == 0) return {Number(1), Number(0)};
  const Number angle = stage("angle", Number(position) * theta(in, m));
  return {cos(angle), sin(angle)};
}

/// (x_a, x_b) turned: two products each
inline std::pair<Number, Number> turned(const Turn& r, const Number& a, const Number& b) {
  const Vector x = tabulate(2, [&](Index t) { return t == 0 ? a : b; });
  const Vector first = tabulate(2, [&](Index t) { return t == 0 ? r.cosine : -r.sine; });
  const Vector second = tabulate(2, [&](Index t) { return t == 0 ? r.sine : r.cosine; });
  return {dot(x, first), dot(x, second)};
}

template <class F>
void each_pair(const In& in, const Out& out, F&& rotate) {
  for (const Index i : wanted(out.y))
    for (Index m = 0; m < in.x.extent(1) / 2; ++m) {  // C1
      const auto [a, b] = pair_of(in, m);
      const auto [y_a, y_b] = rotate(i, m, in.x(i, a), in.x(i, b));
      out.y(i, a) = y_a;
      out.y(i, b) = y_b;
    }
}

/// y_a = x_a cos(p theta_m) - x_b sin(p theta_m), y_b = x_a sin(p theta_m) + x_b cos(p theta_m)   [Su et al. 2021, eq.
/// 15]
inline void pairs(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    return turned(turn(in, in.positions(i), m), a, b);
  });
}

/// y_i = R_p x_i with the whole block-diagonal matrix
inline void matrix(const In& in, const Out& out) {
  const Index d = in.x.extent(1);
  for (const Index i : wanted(out.y)) {
    Matrix R(d, d);
    for (Index m = 0; m < d / 2; ++m) {
      const auto [a, b] = pair_of(in, m);
      const auto r = turn(in, in.positions(i), m);
      R(a, a) = R(b, b) = r.cosine;
      R(a, b) = -r.sine;
      R(b, a) = r.sine;
    }
    for (Index a = 0; a < d; ++a) out.y(i, a) = dot(R[a], in.x[i]);
  }
}

/// (x_a + i x_b) e^(i p theta_m), the product of complex numbers in three multiplications
inline void complex(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = turn(in, in.positions(i), m);
    const Number ac = a * r.cosine, bs = b * r.sine, all = (a + b) * (r.cosine + r.sine);
    return std::pair(ac - bs, all - ac - bs);
  });
}

/// x cos + rot(x) sin, rot(x) being (-x_b, x_a)
inline void rotate_half(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = turn(in, in.positions(i), m);
    return std::pair(a * r.cosine + (-b) * r.sine, b * r.cosine + a * r.sine);
  });
}

/// R_(p-1), then R_1
inline void composed(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto [c, e] = turned(turn(in, in.positions(i) - 1, m), a, b);
    return turned(turn(in, 1, m), c, e);
  });
}

}  // namespace attest::reference::positional::rotary
