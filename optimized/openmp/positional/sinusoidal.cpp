// SPDX-License-Identifier: MIT
#include "attest/spec/positional/sinusoidal.hpp"

#include "attest/openmp/tiles.hpp"
#include "attest/openmp/waves.hpp"

namespace attest::openmp::positional::sinusoidal {

using attest::spec::positional::sinusoidal::In;
using attest::spec::positional::sinusoidal::Layout;
using attest::spec::positional::sinusoidal::Out;
using attest::spec::positional::sinusoidal::Timescale;

/// The exponents are m / steps.
template <class T>
Wide<T> steps(const In<T>& in) {
  return static_cast<Wide<T>>(in.x.extent(1)) / 2 - (in.timescale == Timescale::endpoint ? 1 : 0);
}

/// Calls wave(i, m, a, b) for every row and pair, a and b the columns of the sine and of the cosine, rows in parallel.
template <class T, class F>
void each_wave(const In<T>& in, F&& wave) {
  const Index d = in.x.extent(1), sines = d - d / 2;
  const bool blocks = in.layout == Layout::half;
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i)
      for (Index m = 0; m < sines; ++m) wave(i, m, blocks ? m : 2 * m, blocks ? sines + m : 2 * m + 1);
  });
}

template <class T>
void add(const In<T>& in, const Out<T>& out, Index i, Index a, Index b, Wide<T> angle) {
  const auto [sine, cosine] = engine::sine_cosine(angle);
  out.y(i, a) = in.x(i, a) + static_cast<T>(sine);
  if (b < in.x.extent(1)) out.y(i, b) = in.x(i, b) + static_cast<T>(cosine);
}

/// The position over base^(m / steps).
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1);
  Column<Wide<T>> periods = Column<Wide<T>>::Ones(d - d / 2);
  for (Index m = 1; m < periods.size(); ++m)
    periods(m) = std::pow(static_cast<Wide<T>>(in.base), static_cast<Wide<T>>(m) / steps(in));
  each_wave(in, [&](Index i, Index m, Index a, Index b) {
    add<T>(in, out, i, a, b, static_cast<Wide<T>>(in.start + i) / periods(m));
  });
}

/// The frequencies made once.
template <class T>
void exponential(const In<T>& in, const Out<T>& out) {
  const auto w = frequencies<T>(in.base, in.x.extent(1) - in.x.extent(1) / 2, steps(in));
  each_wave(in, [&](Index i, Index m, Index a, Index b) {
    add<T>(in, out, i, a, b, static_cast<Wide<T>>(in.start + i) * w(m));
  });
}

/// Two blocks of columns, strided where sines and cosines take turns.
template <class T>
void half(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), d = in.x.extent(1), sines = d - d / 2;
  const auto w = frequencies<T>(in.base, sines, steps(in));
  RowMajor<T> table(n, d);
  for (Index i = 0; i < n; ++i)
    for (Index m = 0; m < sines; ++m) {
      const auto [sine, cosine] = engine::sine_cosine(static_cast<Wide<T>>(in.start + i) * w(m));
      table(i, m) = static_cast<T>(sine);
      if (m < d - sines) table(i, sines + m) = static_cast<T>(cosine);
    }
  const auto x = matrix(in.x);
  auto y = matrix(out.y);
  for (Index a = 0; a < d; ++a)
    y.col(a) = x.col(a) + table.col(in.layout == Layout::half ? a : a % 2 == 0 ? a / 2 : sines + a / 2);
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void exponential(const In<float>&, const Out<float>&);
template void exponential(const In<double>&, const Out<double>&);
template void half(const In<float>&, const Out<float>&);
template void half(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::sinusoidal
