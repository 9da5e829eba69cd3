// SPDX-License-Identifier: MIT
#include "attest/spec/positional/alibi.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::positional::alibi {

using attest::spec::positional::alibi::In;
using attest::spec::positional::alibi::Out;

/// All slopes at once. With c = bit_floor(heads), head h < c has 2^(-8(h+1)/c) and head c + r has 2^(-4(2r+1)/c).
template <class T>
Column<T> slopes(const In<T>& in) {
  const Index heads = in.q.extent(0), c = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  if (in.slopes) return vector(in.slopes);
  Column<T> a(heads);
  for (Index h = 0; h < heads; ++h) {
    const Index quarters = h < c ? 2 * (h + 1) : 2 * (h - c) + 1;
    a(h) = static_cast<T>(std::exp2(-4.0 * static_cast<double>(quarters) / static_cast<double>(c)));
  }
  return a;
}

/// Every form: bias(a, p, count) is the row of biases of keys 0 .. count - 1 for a head of slope a and a query at
/// position p. Rows of all heads are independent.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& bias) {
  const Index heads = in.q.extent(0), n = in.q.extent(1), s = in.k.extent(1);
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(2)));
  const Column<T> a = slopes(in);
#pragma omp parallel for collapse(2) schedule(dynamic) if (heads * n * s > 256)
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < n; ++i) {
      const Index p = i + s - n + in.query_offset, count = in.symmetric ? s : std::min(s, p + 1);  // C1
      Column<T> w = scale * (openmp::matrix(in.k[h]).topRows(count) * vector(in.q[h][i])) + bias(a(h), p, count);
      w = (w.array() - w.maxCoeff()).exp();
      vector(out.o[h][i]) = openmp::matrix(in.v[h]).topRows(count).transpose() * w / w.sum();
    }
}

template <class T>
Column<T> away(T a, Index p, Index count) {
  return -a * (Column<T>::LinSpaced(count, 0, static_cast<T>(count - 1)).array() - static_cast<T>(p)).abs().matrix();
}

/// The distances of a row, times the slope.
template <class T>
void distance(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](T a, Index p, Index count) -> Column<T> { return away(a, p, count); });
}

/// The indices of the keys, times the slope: the same row for every query.
template <class T>
void key_index(const In<T>& in, const Out<T>& out) {
  const Index s = in.k.extent(1);
  const Column<T> index = Column<T>::LinSpaced(s, 0, static_cast<T>(s - 1));
  each_row(in, out, [&](T a, Index, Index count) -> Column<T> { return a * index.head(count); });
}

/// A matrix of biases for each head, then ordinary attention over all keys.
template <class T>
void matrix(const In<T>& in, const Out<T>& out) {
  const Index heads = in.q.extent(0), n = in.q.extent(1), s = in.k.extent(1);
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(2)));
  const Column<T> a = slopes(in);
#pragma omp parallel for schedule(static) if (heads > 1)
  for (Index h = 0; h < heads; ++h) {
    RowMajor<T> l = RowMajor<T>::Constant(n, s, -std::numeric_limits<T>::infinity());
    for (Index i = 0; i < n; ++i) {
      const Index p = i + s - n + in.query_offset, count = in.symmetric ? s : std::min(s, p + 1);
      l.row(i).head(count) = away(a(h), p, count).transpose();
    }
    l += scale * (openmp::matrix(in.q[h]) * openmp::matrix(in.k[h]).transpose());
    for (Index i = 0; i < n; ++i) {
      const T highest = l.row(i).maxCoeff();
      for (Index j = 0; j < s; ++j) l(i, j) = std::exp(l(i, j) - highest);  // an exact 0 where invisible
      l.row(i) /= l.row(i).sum();
    }
    openmp::matrix(out.o[h]) = l * openmp::matrix(in.v[h]);
  }
}

template void distance(const In<float>&, const Out<float>&);
template void distance(const In<double>&, const Out<double>&);
template void key_index(const In<float>&, const Out<float>&);
template void key_index(const In<double>&, const Out<double>&);
template void matrix(const In<float>&, const Out<float>&);
template void matrix(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::alibi
