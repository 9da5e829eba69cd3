// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/sinusoidal.hpp"

namespace attest::reference::positional::sinusoidal {

using attest::spec::positional::sinusoidal::In;
using attest::spec::positional::sinusoidal::Out;

/// The sine and the cosine of one angle.
template <class T>
struct Wave {
  T sine, cosine;
};

template <class T>
Wave<T> wave(const T& angle) {
  return {sin(angle), cos(angle)};
}

/// Sines, or pairs of a sine and a cosine.
inline Index waves(Index d) { return (d + 1) / 2; }

/// The column of sine m and that of cosine m, which is d or more where there is none.
template <class T>
Index sine_column(const In<T>& in, Index m) {
  return in.layout == "half" ? m : 2 * m;
}
template <class T>
Index cosine_column(const In<T>& in, Index m) {
  return in.layout == "half" ? waves(in.x.extent(1)) + m : 2 * m + 1;
}

/// base^e
template <class T>
T power(double base, const T& e) {
  return exp(e * log(T(base)));
}  // C1

/// 2m/d, or m / (d/2 - 1)
template <class T>
T exponent(const In<T>& in, Index m) {
  return T(2 * m) / T(in.timescale == "endpoint" ? in.x.extent(1) - 2 : in.x.extent(1));
}  // C2

/// w_m; w_0 = 1 without rounding, also where the exponent is 0/0
template <class T>
T frequency(const In<T>& in, Index m) {
  return m == 0 ? T(1) : power(in.base, T(-exponent(in, m)));
}

/// y_i = x_i + the waves of row i, pair(i, m)
template <class T, class F>
void add(const In<T>& in, const Out<T>& out, F&& pair) {
  const Index d = in.x.extent(1);
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index m = 0; m < waves(d); ++m) {
      const Wave<T> w = pair(i, m);
      const Index a = sine_column(in, m), b = cosine_column(in, m);
      out.y(i, a) = in.x(i, a) + w.sine;
      if (b < d) out.y(i, b) = in.x(i, b) + w.cosine;
    }
}

/// sin and cos of p / base^(2m/d)      [Vaswani et al. 2017, section 3.5]
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  add(in, out, [&](Index i, Index m) {
    const T p = T(in.start + i);
    return wave(m == 0 ? p : T(p / power(in.base, exponent(in, m))));
  });
}

/// sin and cos of p e^(-(2m/d) ln base)
template <class T>
void exponential(const In<T>& in, const Out<T>& out) {
  add(in, out, [&](Index i, Index m) { return wave(T(T(in.start + i) * frequency(in, m))); });
}

/// Row i + 1 is row i with every pair turned by w_m.
template <class T>
void rotation(const In<T>& in, const Out<T>& out) {
  std::vector<Wave<T>> row(static_cast<std::size_t>(waves(in.x.extent(1))));
  add(in, out, [&](Index i, Index m) {
    Wave<T>& now = row[static_cast<std::size_t>(m)];
    const T w = frequency(in, m);
    const Wave<T> step = wave(w);
    if (i == 0)
      now = wave(T(T(in.start) * w));
    else
      now = {now.sine * step.cosine + now.cosine * step.sine, now.cosine * step.cosine - now.sine * step.sine};
    return now;
  });
}

/// The table [sines | cosines], then its columns in the order of the layout.
template <class T>
void half(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1), sines = waves(d);
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto row = tabulate(d, [&](Index a) {
      const T angle = T(in.start + i) * frequency(in, a % sines);
      return a < sines ? T(sin(angle)) : T(cos(angle));
    });
    for (Index a = 0; a < d; ++a) out.y(i, a) = in.x(i, a) + row(in.layout == "half" ? a : a / 2 + a % 2 * sines);
  }
}

}  // namespace attest::reference::positional::sinusoidal
