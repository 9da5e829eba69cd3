// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/positional/sinusoidal.hpp"

namespace attest::reference::positional::sinusoidal {

using In = attest::spec::positional::sinusoidal::In<Number>;
using Out = attest::spec::positional::sinusoidal::Out<Number>;
using attest::spec::positional::sinusoidal::Layout;
using attest::spec::positional::sinusoidal::Timescale;

/// The sine and the cosine of one angle.
struct Wave {
  Number sine, cosine;
};

/// Both as named intermediate results.
inline Wave stage(Wave w, std::string_view label = "sines and cosines") {
  return {reference::stage(label, std::move(w.sine)), reference::stage(label, std::move(w.cosine))};
}

/// That of p w, the frequency w times a position, or of an angle that is made in another way.
inline Wave wave(Number angle) {
  angle = reference::stage("angles", std::move(angle));
  return stage({sin(angle), cos(angle)});
}

/// A position as a number.
inline Number position(Index p) { return reference::stage("positions", Number(p)); }

/// An entry of a table, which kernels may keep in memory.
inline Wave stored(const Wave& w) { return {reference::stored(w.sine), reference::stored(w.cosine)}; }

/// Sines, or pairs of a sine and a cosine.
inline Index waves(Index d) { return (d + 1) / 2; }

/// The column of sine m and that of cosine m, which is d or more where there is none.
inline Index sine_column(const In& in, Index m) { return in.layout == Layout::half ? m : 2 * m; }
inline Index cosine_column(const In& in, Index m) {
  return in.layout == Layout::half ? waves(in.x.extent(1)) + m : 2 * m + 1;
}

/// base^e
inline Number power(double base, const Number& e) {
  return exp(reference::stage("frequency exponents", e * log(parameter(base))));  // C1
}

/// 2m/d, or m / (d/2 - 1)
inline Number exponent(const In& in, Index m) {
  return Number(2 * m) / Number(in.timescale == Timescale::endpoint ? in.x.extent(1) - 2 : in.x.extent(1));
}  // C2

/// w_m; w_0 = 1 without rounding, also where the exponent is 0/0
inline Number frequency(const In& in, Index m) {
  return reference::stage("frequencies", m == 0 ? Number(1) : power(in.base, -exponent(in, m)));
}

/// y_i = x_i + the waves of row i, pair(i, m)
template <class F>
void add(const In& in, const Out& out, F&& pair) {
  const Index d = in.x.extent(1);
  for (const Index i : wanted(out.y))
    for (Index m = 0; m < waves(d); ++m) {
      const Wave w = stored(pair(i, m));
      const Index a = sine_column(in, m), b = cosine_column(in, m);
      out.y(i, a) = in.x(i, a) + w.sine;
      if (b < d) out.y(i, b) = in.x(i, b) + w.cosine;
    }
}

/// sin and cos of p / base^(2m/d)      [Vaswani et al. 2017, section 3.5]
inline void direct(const In& in, const Out& out) {
  add(in, out, [&](Index i, Index m) {
    const Number p = position(in.start + i);
    return wave(m == 0 ? p : p / reference::stage("timescales", power(in.base, exponent(in, m))));
  });
}

/// sin and cos of p e^(-(2m/d) ln base)
inline void exponential(const In& in, const Out& out) {
  add(in, out, [&](Index i, Index m) { return wave(position(in.start + i) * frequency(in, m)); });
}

/// Row i + 1 is row i with every pair turned by w_m.
inline void rotation(const In& in, const Out& out) {
  const Index n = in.x.extent(0), pairs = waves(in.x.extent(1));
  std::vector<std::vector<Wave>> pair(static_cast<std::size_t>(pairs));
  for (Index m = 0; m < pairs; ++m) {
    const Number w = frequency(in, m);
    const Wave step = wave(w);
    auto& rows = pair[static_cast<std::size_t>(m)];
    for (Index i = 0; i < n; ++i) {
      if (i == 0) {
        rows.push_back(wave(position(in.start) * w));
        continue;
      }
      const Wave& now = rows.back();
      rows.push_back(
          stage({now.sine * step.cosine + now.cosine * step.sine, now.cosine * step.cosine - now.sine * step.sine}));
    }
  }
  add(in, out, [&](Index i, Index m) { return pair[static_cast<std::size_t>(m)][static_cast<std::size_t>(i)]; });
}

/// The table [sines | cosines], then its columns in the order of the layout.
inline void half(const In& in, const Out& out) {
  const Index d = in.x.extent(1), sines = waves(d);
  for (const Index i : wanted(out.y)) {
    const auto row = tabulate(d, [&](Index a) {
      const Number angle = reference::stage("angles", position(in.start + i) * frequency(in, a % sines));
      return reference::stored(reference::stage("sines and cosines", a < sines ? sin(angle) : cos(angle)));
    });
    for (Index a = 0; a < d; ++a) out.y(i, a) = in.x(i, a) + row(in.layout == Layout::half ? a : a / 2 + a % 2 * sines);
  }
}

}  // namespace attest::reference::positional::sinusoidal
