// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/rotary.hpp"

namespace attest::reference::positional::rotary {

using In = attest::spec::positional::rotary::In<Number>;
using Out = attest::spec::positional::rotary::Out<Number>;
using attest::spec::positional::rotary::Pairing;
using attest::spec::positional::rotary::Scaling;

/// Coordinates that are turned; those behind them pass through.
template <class I>
Index width(const I& in) {
  return in.rotary_width == 0 ? in.x.extent(1) : in.rotary_width;  // C3
}

/// The coordinates of pair m.
template <class I>
std::pair<Index, Index> pair_of(const I& in, Index m) {
  return in.pairing == Pairing::half ? std::pair(m, m + width(in) / 2) : std::pair(2 * m, 2 * m + 1);
}

/// base^(-2m/w)
template <class I>
Number unscaled(const I& in, Index m) {
  if (m == 0) return Number(1);
  return exp(stage("frequency exponents", -(Number(2 * m) / Number(width(in))) * log(parameter(in.base))));  // C2
}

/// 0 below 0, 1 above 1
inline Number ramp(const Number& t) {
  return less(t, Number(0)) ? Number(0) : less(Number(1), t) ? Number(1) : stage("ramp", t);
}

/// a at t = 0, b at t = 1
inline Number between(const Number& a, const Number& b, const Number& t) { return (1 - t) * a + t * b; }

/// The pair, as a real number, whose frequency turns it so many times over the original length.
template <class I>
Number pair_of_turns(const I& in, double turns) {
  return Number(width(in)) * log(Number(in.original_length) / (2 * pi() * parameter(turns))) /
         (2 * log(parameter(in.base)));
}

/// Pairs up to `first` keep their frequencies, those from `last` on have scaled ones.
struct Ramp {
  Index first, last;

  /// From the floor of the pair of beta_fast turns to the ceiling of that of beta_slow, within 0 .. w - 1.
  template <class I>
  static Ramp of(const I& in) {
    const Number fast = pair_of_turns(in, in.beta_fast), slow = pair_of_turns(in, in.beta_slow);
    const Index end = width(in) - 1;
    Ramp ramp{0, 0};
    while (ramp.first < end && !less(fast, Number(ramp.first + 1))) ++ramp.first;
    while (ramp.last < end && less(Number(ramp.last), slow)) ++ramp.last;
    return ramp;
  }

  Number at(Index m) const { return ramp(Number(m - first) / Number(last - first)); }
};

/// Where the wavelength of a frequency lies: 0 at original_length / low_frequency_factor and beyond, 1 at
/// original_length / high_frequency_factor and below.
template <class I>
Number share_of_high(const I& in, const Number& frequency) {
  const Number turns = Number(in.original_length) * frequency / (2 * pi());
  const Number low = parameter(in.low_frequency_factor), high = parameter(in.high_frequency_factor);
  return ramp((turns - low) / (high - low));  // C7
}

/// theta_m = base^(-2m/w), scaled.
template <class I>
Number theta(const I& in, Index m) {
  if (in.scaling == Scaling::none) return unscaled(in, m);
  const Number factor = parameter(in.factor);  // C4
  if (in.scaling == Scaling::ntk) {
    if (m == 0) return Number(1);
    return exp(stage("frequency exponents", -(Number(2 * m) / Number(width(in)) * log(parameter(in.base)) +
                                              Number(2 * m) / Number(width(in) - 2) * log(factor))));  // C5
  }
  const Number own = unscaled(in, m);
  if (in.scaling == Scaling::linear) return own / factor;
  if (in.scaling == Scaling::yarn) return between(own, own / factor, Ramp::of(in).at(m));  // C6
  return between(own / factor, own, share_of_high(in, own));
}

/// What the cosines and sines of YaRN are multiplied by.
template <class I>
Number attention_factor(const I& in) {
  return in.attention_factor ? parameter(*in.attention_factor) : rational(1, 10) * log(parameter(in.factor)) + 1;
}

struct Turn {
  Number cosine, sine;

  Turn times(const Number& factor) const { return {factor * cosine, factor * sine}; }
};

/// An entry of the table of sines and cosines.
inline Turn entry(Turn r) {
  return {stage("sines and cosines", std::move(r.cosine)), stage("sines and cosines", std::move(r.sine))};
}

/// By that angle.
inline Turn turn_by(const Number& angle) { return {cos(angle), sin(angle)}; }

/// By the angle of pair m at that position.
template <class I>
Turn turn_at(const I& in, Index position, Index m) {
  const Number p = stage("positions", Number(position));
  return turn_by(stage("angles", p * stage("frequencies", theta(in, m))));
}

template <class I>
Turn turn(const I& in, Index position, Index m) {
  Turn r = position == 0 ? Turn{Number(1), Number(0)} : turn_at(in, position, m);
  if (in.scaling == Scaling::yarn) r = r.times(stage("attention factor", attention_factor(in)));
  return entry(std::move(r));
}

/// (x_a, x_b) turned: two products each
inline std::pair<Number, Number> turned(const Turn& r, const Number& a, const Number& b) {
  const Vector x = tabulate(2, [&](Index t) { return t == 0 ? a : b; });
  const Vector first = tabulate(2, [&](Index t) { return t == 0 ? r.cosine : -r.sine; });
  const Vector second = tabulate(2, [&](Index t) { return t == 0 ? r.sine : r.cosine; });
  return {dot(x, first), dot(x, second)};
}

/// The coordinates behind those that are turned.
inline void pass(const In& in, const Out& out, Index i) {
  for (Index a = width(in); a < in.x.extent(1); ++a) out.y(i, a) = in.x(i, a);
}

template <class F>
void each_pair(const In& in, const Out& out, F&& rotate) {
  for (const Index i : wanted(out.y)) {
    for (Index m = 0; m < width(in) / 2; ++m) {  // C1
      const auto [a, b] = pair_of(in, m);
      const auto [y_a, y_b] = rotate(i, m, in.x(i, a), in.x(i, b));
      out.y(i, a) = y_a;
      out.y(i, b) = y_b;
    }
    pass(in, out, i);
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
  const Index w = width(in);
  for (const Index i : wanted(out.y)) {
    Matrix R(w, w);
    for (Index m = 0; m < w / 2; ++m) {
      const auto [a, b] = pair_of(in, m);
      const auto r = turn(in, in.positions(i), m);
      R(a, a) = R(b, b) = r.cosine;
      R(a, b) = -r.sine;
      R(b, a) = r.sine;
    }
    for (Index a = 0; a < w; ++a) out.y(i, a) = dot(R[a], in.x.columns(0, w)[i]);
    pass(in, out, i);
  }
}

/// (x_a + i x_b) e^(i p theta_m), the product of complex numbers in three multiplications
inline void complex(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = turn(in, in.positions(i), m);
    const Number ac = stage("products", a * r.cosine), bs = stage("products", b * r.sine);
    const Number all = stage("products", (a + b) * (r.cosine + r.sine));
    return std::pair(ac - bs, all - ac - bs);
  });
}

/// x cos + rot(x) sin, rot(x) being (-x_b, x_a)
inline void rotate_half(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto r = turn(in, in.positions(i), m);
    const auto product = [](const Number& x, const Number& y) { return stage("products", x * y); };
    return std::pair(product(a, r.cosine) + product(-b, r.sine), product(b, r.cosine) + product(a, r.sine));
  });
}

/// R_(p-1), then R_1
inline void composed(const In& in, const Out& out) {
  each_pair(in, out, [&](Index i, Index m, const Number& a, const Number& b) {
    const auto [c, e] = turned(turn(in, in.positions(i) - 1, m), a, b);
    return turned(entry(turn_at(in, 1, m)), stage("turned", c), stage("turned", e));
  });
}

}  // namespace attest::reference::positional::rotary
