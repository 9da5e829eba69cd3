// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/span_attention.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::span_attention {

using attest::spec::adaptive::span_attention::In;
using attest::spec::adaptive::span_attention::Out;

template <class T>
Index shift_of(const In<T>& in) {
  return in.k.extent(0) - in.q.extent(0);
}

/// m_ij for a key of the window.
template <class T>
T mask(const In<T>& in, Index i, Index j) {
  const T ramp = static_cast<T>(in.ramp), x = static_cast<T>(i + shift_of(in) - j - in.distance_shift);
  return std::clamp((ramp + in.z(i) - x) / ramp, T(0), T(1));
}

/// The window of query i: its first key, and how many.
template <class T>
std::pair<Index, Index> window(const In<T>& in, Index i) {
  const Index t = i + shift_of(in), first = std::max<Index>(0, t - in.span);
  return {first, t + (in.include_self ? 1 : 0) - first};
}

/// The masks of a window; they fall towards its first key.
template <class T>
Column<T> masks(const In<T>& in, Index i, Index first, Index count) {
  Column<T> m(count);
  for (Index t = 0; t < count; ++t) m(t) = mask(in, i, first + t);
  return m;
}

template <class T>
void write_mask(const Out<T>& out, Index i, Index first, const Column<T>& m) {
  if (!out.mask) return;
  auto row = vector(out.mask[i]);
  row.setZero();
  row.segment(first, m.size()) = m;
}

/// One query over the keys from `first` on, of masks m; those of mask 0 count for eps alone.
template <class T>
void attend(const In<T>& in, const Out<T>& out, Index i, Index first, const Column<T>& m) {
  auto o = vector(out.o[i]);
  o.setZero();
  if (m.size() == 0 || m.maxCoeff() == 0) return;  // C4
  const Index count = m.size();
  const T eps = static_cast<T>(in.eps);
  Column<T> e = static_cast<T>(in.scale) * (matrix(in.k.rows(first, count)) * vector(in.q[i]));
  const T most = eps > 0 ? e.maxCoeff() : (m.array() > 0).select(e.array(), e.minCoeff()).maxCoeff();
  for (Index t = 0; t < count; ++t) e(t) = m(t) > 0 || eps > 0 ? std::exp(e(t) - most) : T(0);
  const Column<T> w = m.cwiseProduct(e);
  o = matrix(in.v.rows(first, count)).transpose() * w / (w.sum() + eps * e.sum());
}

/// All keys of the window.
template <class T>
void masked_exp(const In<T>& in, const Out<T>& out) {
  each_tile(in.q.extent(0), [&](Index begin, Index queries) {
    for (Index i = begin; i < begin + queries; ++i) {
      const auto [first, count] = window(in, i);
      const Column<T> m = masks(in, i, first, count);
      write_mask(out, i, first, m);
      attend(in, out, i, first, m);
    }
  });
}

/// Only the keys nearer than z + ramp.
template <class T>
void trimmed(const In<T>& in, const Out<T>& out) {
  each_tile(in.q.extent(0), [&](Index begin, Index queries) {
    for (Index i = begin; i < begin + queries; ++i) {
      const auto [first, count] = window(in, i);
      const Column<T> m = masks(in, i, first, count);
      write_mask(out, i, first, m);
      Index hidden = 0;
      while (hidden < count && m(hidden) == 0) ++hidden;
      attend(in, out, i, first + hidden, Column<T>(m.tail(count - hidden)));
    }
  });
}

/// ln m is a term of the logits.
template <class T>
void log_mask(const In<T>& in, const Out<T>& out) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const auto visible = std::make_unique<bool[]>(static_cast<std::size_t>(n * s));
  RowMajor<T> logarithms = RowMajor<T>::Zero(n, s);
  for (Index i = 0; i < n; ++i) {
    const auto [first, count] = window(in, i);
    const Column<T> m = masks(in, i, first, count);
    write_mask(out, i, first, m);
    for (Index t = 0; t < count; ++t) {
      visible[static_cast<std::size_t>(i * s + first + t)] = m(t) > 0;
      if (m(t) > 0) logarithms(i, first + t) = std::log(m(t));
    }
  }
  engine::Problem<T> problem{.q = in.q, .k = in.k, .v = in.v, .scale = static_cast<T>(in.scale)};
  problem.mask = {visible.get(), {n, s}};
  problem.left = in.span, problem.right = in.include_self ? 0 : -1, problem.shift = shift_of(in);
  problem.edit = [&](const engine::Tile<T>& tile) {
    tile.each([&](T& l, Index i, Index j) { l += logarithms(i, j); });
  };
  engine::attend(problem, {.o = out.o});
}

template void masked_exp(const In<float>&, const Out<float>&);
template void masked_exp(const In<double>&, const Out<double>&);
template void log_mask(const In<float>&, const Out<float>&);
template void log_mask(const In<double>&, const Out<double>&);
template void trimmed(const In<float>&, const Out<float>&);
template void trimmed(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::span_attention
