// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/sinusoidal.hpp"
#include "attest/spec/positional/coordinate_2d.hpp"

namespace attest::reference::positional::coordinate_2d {

using In = attest::spec::positional::coordinate_2d::In<Number>;
using Out = attest::spec::positional::coordinate_2d::Out<Number>;
using sinusoidal::Wave;

/// w_m = base^(-2m/d)
inline Number frequency(const In& in, Index m) {
  if (m == 0) return Number(1);
  return stage("frequencies", sinusoidal::power(in.base, -(Number(2 * m) / Number(in.x.extent(2)))));  // C1
}

/// y = x + the waves of step s, row i and pair m, encoding(step, position, m)
template <class F>
void add(const In& in, const Out& out, F&& encoding) {
  const Index n = in.x.extent(1), d = in.x.extent(2);
  for (const Index s : wanted(out.y))
    for (Index i = 0; i < n; ++i)
      for (Index m = 0; m < sinusoidal::waves(d); ++m) {
        const Wave w =
            sinusoidal::stored(sinusoidal::stage(encoding(in.step_start + s, in.position_start + i, m), "encodings"));
        out.y(s, i, 2 * m) = in.x(s, i, 2 * m) + w.sine;
        if (2 * m + 1 < d) out.y(s, i, 2 * m + 1) = in.x(s, i, 2 * m + 1) + w.cosine;
      }
}

inline Wave wave(const In& in, Index p, Index m) {
  return sinusoidal::stored(sinusoidal::wave(sinusoidal::position(p) * frequency(in, m)));
}

inline Wave sum_of(const Wave& a, const Wave& b) { return {a.sine + b.sine, a.cosine + b.cosine}; }

/// sin(p w_m) + sin(t w_m), cos(p w_m) + cos(t w_m)      [Dehghani et al. 2019, eq. 6 and 7]
inline void direct(const In& in, const Out& out) {
  add(in, out, [&](Index t, Index p, Index m) { return sum_of(wave(in, p, m), wave(in, t, m)); });
}

/// The encoding of first, first + 1, .. first + count - 1, wave m of row i at [i * waves + m].
inline std::vector<Wave> table(const In& in, Index first, Index count) {
  std::vector<Wave> rows;
  for (Index i = 0; i < count; ++i)
    for (Index m = 0; m < sinusoidal::waves(in.x.extent(2)); ++m) rows.push_back(wave(in, first + i, m));
  return rows;
}

/// A table of positions plus a table of steps
inline void sum_of_tables(const In& in, const Out& out) {
  const Index waves = sinusoidal::waves(in.x.extent(2));
  const auto positions = table(in, in.position_start, in.x.extent(1)), steps = table(in, in.step_start, in.x.extent(0));
  add(in, out, [&](Index t, Index p, Index m) {
    return sum_of(positions[static_cast<std::size_t>((p - in.position_start) * waves + m)],
                  steps[static_cast<std::size_t>((t - in.step_start) * waves + m)]);
  });
}

/// 2 sin((p + t) w / 2) cos((p - t) w / 2), 2 cos((p + t) w / 2) cos((p - t) w / 2)
inline void product_form(const In& in, const Out& out) {
  add(in, out, [&](Index t, Index p, Index m) {
    const Number half = frequency(in, m) / Number(2);
    const Wave sum = sinusoidal::wave(sinusoidal::position(p + t) * half);
    const Number difference = stage("angles", sinusoidal::position(p - t) * half);
    const Number both = 2 * stage("sines and cosines", cos(difference));
    return Wave{sum.sine * both, sum.cosine * both};
  });
}

}  // namespace attest::reference::positional::coordinate_2d
