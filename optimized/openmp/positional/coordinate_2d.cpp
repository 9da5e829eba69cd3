// SPDX-License-Identifier: MIT
#include "attest/spec/positional/coordinate_2d.hpp"

#include "attest/openmp/waves.hpp"

namespace attest::openmp::positional::coordinate_2d {

using attest::spec::positional::coordinate_2d::In;
using attest::spec::positional::coordinate_2d::Out;

template <class T>
Column<Wide<T>> frequencies_of(const In<T>& in) {
  const Index d = in.x.extent(2);
  return frequencies<T>(in.base, d - d / 2, static_cast<Wide<T>>(d) / 2);
}

/// y = x + waves(step, position, m), a sine and a cosine, rows in parallel.
template <class T, class F>
void each_pair(const In<T>& in, const Out<T>& out, F&& waves) {
  const Index steps = in.x.extent(0), n = in.x.extent(1), d = in.x.extent(2);
#pragma omp parallel for collapse(2) schedule(static) if (steps * n > 64)
  for (Index t = 0; t < steps; ++t)
    for (Index i = 0; i < n; ++i)
      for (Index a = 0; a < d; a += 2) {
        const engine::SineCosine<Wide<T>> both = waves(in.step_start + t, in.position_start + i, a / 2);
        out.y(t, i, a) = in.x(t, i, a) + static_cast<T>(both.sine);
        if (a + 1 < d) out.y(t, i, a + 1) = in.x(t, i, a + 1) + static_cast<T>(both.cosine);
      }
}

/// Both waves of every entry.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const auto w = frequencies_of(in);
  each_pair(in, out, [&](Index t, Index p, Index m) -> engine::SineCosine<Wide<T>> {
    const auto step = engine::sine_cosine(static_cast<Wide<T>>(t) * w(m)),
               position = engine::sine_cosine(static_cast<Wide<T>>(p) * w(m));
    return {position.sine + step.sine, position.cosine + step.cosine};
  });
}

/// Rows first .. first + count - 1 of the encoding.
template <class T>
RowMajor<T> table(const In<T>& in, Index first, Index count) {
  const Index d = in.x.extent(2);
  const auto w = frequencies_of(in);
  RowMajor<T> rows(count, d);
  for (Index i = 0; i < count; ++i)
    for (Index a = 0; a < d; a += 2) {
      const auto wave = engine::sine_cosine(static_cast<Wide<T>>(first + i) * w(a / 2));
      rows(i, a) = static_cast<T>(wave.sine);
      if (a + 1 < d) rows(i, a + 1) = static_cast<T>(wave.cosine);
    }
  return rows;
}

/// Waves of n + t rows only; each step adds one of its own to all positions.
template <class T>
void sum_of_tables(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> positions = table(in, in.position_start, in.x.extent(1)),
                    steps = table(in, in.step_start, in.x.extent(0));
  for (Index t = 0; t < in.x.extent(0); ++t) matrix(out.y[t]) = matrix(in.x[t]) + (positions.rowwise() + steps.row(t));
}

/// One product of waves instead of a sum.
template <class T>
void product_form(const In<T>& in, const Out<T>& out) {
  const auto w = frequencies_of(in);
  each_pair(in, out, [&](Index t, Index p, Index m) -> engine::SineCosine<Wide<T>> {
    const auto middle = engine::sine_cosine(static_cast<Wide<T>>(p + t) * w(m) / 2),
               apart = engine::sine_cosine(static_cast<Wide<T>>(p - t) * w(m) / 2);
    return {2 * middle.sine * apart.cosine, 2 * middle.cosine * apart.cosine};
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void sum_of_tables(const In<float>&, const Out<float>&);
template void sum_of_tables(const In<double>&, const Out<double>&);
template void product_form(const In<float>&, const Out<float>&);
template void product_form(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::coordinate_2d
