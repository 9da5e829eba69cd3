// SPDX-License-Identifier: MIT
#include "attest/spec/memory/compress.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::memory::compress {

using attest::spec::memory::compress::In;
using attest::spec::memory::compress::Kind;
using attest::spec::memory::compress::Out;
using attest::spec::memory::compress::Remainder;

/// The row of the memory that tap t of result r reads; outside of 0 .. end - 1 there are zeros.
template <class T>
struct Geometry {
  Index g, rate, before, end, taps, apart, first;

  Geometry(const In<T>& in, const Out<T>& out)
      : g(out.y.extent(0)),
        rate(in.rate),
        before(in.remainder == Remainder::pad_oldest_zero ? g * rate - in.x.extent(0) : 0),  // C5
        end(g * rate - before),
        taps(in.kind == Kind::conv || in.kind == Kind::dilated_conv ? in.w.extent(0) : rate),
        apart(in.kind == Kind::dilated_conv ? in.dilation : 1),
        first(in.kind == Kind::dilated_conv ? -in.pad : 0) {}

  Index row(Index r, Index t) const { return r * rate - before + first + t * apart; }
  bool has(Index row) const { return 0 <= row && row < end; }
};

/// The rows of the largest usage; equal ones go by index, so that the choice does not depend on the sort.
template <class T>
void most_used(const In<T>& in, const Out<T>& out) {
  std::vector<Index> order(static_cast<std::size_t>(in.usage.extent(0)));
  std::iota(order.begin(), order.end(), Index{0});
  const auto split = order.begin() + out.y.extent(0);
  std::partial_sort(order.begin(), split, order.end(), [&](Index a, Index b) {
    return in.usage(a) > in.usage(b) || (in.usage(a) == in.usage(b) && a < b);
  });
  std::sort(order.begin(), split);
  for (Index r = 0; r < out.y.extent(0); ++r) vector(out.y[r]) = vector(in.x[order[static_cast<std::size_t>(r)]]);
}

/// Rows that are pooled, one after the other.
template <class T>
void pool(const In<T>& in, const Out<T>& out) {
  const Geometry<T> geometry(in, out);
  each_tile(geometry.g, [&](Index begin, Index count) {
    for (Index r = begin; r < begin + count; ++r) {
      Column<T> y = Column<T>::Zero(in.x.extent(1));
      for (Index t = 0; t < geometry.rate; ++t) {
        const Index row = geometry.row(r, t);
        if (!geometry.has(row)) continue;
        if (in.kind == Kind::mean)
          y += vector(in.x[row]);
        else if (t == 0)
          y = vector(in.x[row]);
        else
          y = y.cwiseMax(vector(in.x[row])).eval();
      }
      if (in.kind == Kind::mean) y /= static_cast<T>(in.rate);
      vector(out.y[r]) = y;
    }
  });
}

/// Tap by tap over a tile of results.
template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  if (in.kind == Kind::most_used) return most_used(in, out);
  if (in.kind == Kind::mean || in.kind == Kind::max) return pool(in, out);
  const Geometry<T> geometry(in, out);
  each_tile(geometry.g, [&](Index begin, Index count) {
    RowMajor<T> y = vector(in.b).transpose().replicate(count, 1);
    for (Index t = 0; t < geometry.taps; ++t)
      for (Index r = 0; r < count; ++r)
        if (const Index row = geometry.row(begin + r, t); geometry.has(row))
          y.row(r).noalias() += vector(in.x[row]).transpose() * matrix(in.w[t]);
    matrix(out.y.rows(begin, count)) = y;
  });
}

/// What the results of a tile need, side by side, times the stacked taps.
template <class T>
void im2col(const In<T>& in, const Out<T>& out) {
  const Geometry<T> geometry(in, out);
  const Index d = in.x.extent(1);
  RowMajor<T> stacked(geometry.taps * d, d);
  for (Index t = 0; t < geometry.taps; ++t) stacked.middleRows(t * d, d) = matrix(in.w[t]);
  each_tile(geometry.g, [&](Index begin, Index count) {
    RowMajor<T> runs = RowMajor<T>::Zero(count, geometry.taps * d);
    for (Index r = 0; r < count; ++r)
      for (Index t = 0; t < geometry.taps; ++t)
        if (const Index row = geometry.row(begin + r, t); geometry.has(row))
          runs.row(r).segment(t * d, d) = vector(in.x[row]).transpose();
    matrix(out.y.rows(begin, count)) = (runs * stacked).rowwise() + vector(in.b).transpose();
  });
}

/// Blocks of rate rows are runs of rate d numbers: pooled as they lie, or times the stacked taps.
template <class T>
void reshape(const In<T>& in, const Out<T>& out) {
  if (in.kind == Kind::conv) return im2col(in, out);
  pool(in, out);
}

template void loop(const In<float>&, const Out<float>&);
template void loop(const In<double>&, const Out<double>&);
template void reshape(const In<float>&, const Out<float>&);
template void reshape(const In<double>&, const Out<double>&);
template void im2col(const In<float>&, const Out<float>&);
template void im2col(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::compress
