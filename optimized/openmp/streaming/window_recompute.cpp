// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/window_recompute.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attest/openmp/attention.hpp"
#include "attest/openmp/tasks.hpp"
#include "attest/openmp/waves.hpp"

namespace attest::openmp::streaming::window_recompute {

using attest::spec::streaming::window_recompute::In;
using attest::spec::streaming::window_recompute::Out;
using attest::spec::streaming::window_recompute::Position;

/// What is added to the rows of a window.
template <class T>
RowMajor<T> encoding(const In<T>& in, Index rows) {
  using Real = engine::Wide<T>;
  const Index d = in.x.extent(1);
  RowMajor<T> p = RowMajor<T>::Zero(rows, d);
  if (in.position == Position::none) return p;
  const auto w = positional::frequencies<T>(10000, (d + 1) / 2, static_cast<Real>(d) / 2);
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < d; c += 2) {
      const auto wave = engine::sine_cosine(static_cast<Real>(r) * w(c / 2));
      p(r, c) = static_cast<T>(wave.sine);
      if (c + 1 < d) p(r, c + 1) = static_cast<T>(wave.cosine);
    }
  return p;
}

template <class T>
struct Model {
  const In<T>& in;
  Index n, d, layers;
  RowMajor<T> positions;
  T scale;

  explicit Model(const In<T>& input)
      : in(input),
        n(in.x.extent(0)),
        d(in.x.extent(1)),
        layers(in.w_q.extent(0)),
        positions(encoding(in, std::min(in.window, n))),
        scale(in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(d))) {}

  Index first(Index i) const { return std::max<Index>(0, i - in.window + 1); }
  Index length(Index i) const { return i - first(i) + 1; }
  RowMajor<T> embedded(Index i) const {
    return matrix(in.x).middleRows(first(i), length(i)) + positions.topRows(length(i));
  }
  /// Attention of the last `queries` rows to those before them.
  RowMajor<T> attention(const RowMajor<T>& q, const RowMajor<T>& k, const RowMajor<T>& v) const {
    RowMajor<T> o(q.rows(), d);
    engine::attend({.q = view(q), .k = view(k), .v = view(v), .scale = scale, .right = 0, .shift = k.rows() - q.rows()},
                   {.o = view(o)});
    return o;
  }
};

/// All rows of every layer, window after window.
template <class T>
void rerun(const In<T>& in, const Out<T>& out) {
  const Model<T> model(in);
  each_task(model.n, model.n * in.window > 256, [&](Index i) {
    RowMajor<T> h = model.embedded(i);
    for (Index l = 0; l < model.layers; ++l) {
      const RowMajor<T> q = h * matrix(in.w_q[l]), k = h * matrix(in.w_k[l]), v = h * matrix(in.w_v[l]);
      h = model.attention(q, k, v);
    }
    vector(out.o[i]) = h.row(h.rows() - 1).transpose();
  });
}

/// The rows of all windows below each other: one product per projection and layer. Of the last layer, the newest row of
/// each window alone is a query.
template <class T>
void batched(const In<T>& in, const Out<T>& out) {
  const Model<T> model(in);
  std::vector<Index> begin{0};
  for (Index i = 0; i < model.n; ++i) begin.push_back(begin.back() + model.length(i));
  const auto rows = [&](const RowMajor<T>& x, Index i) -> RowMajor<T> {
    return x.middleRows(begin[static_cast<std::size_t>(i)], model.length(i));
  };
  RowMajor<T> h(begin.back(), model.d);
  for (Index i = 0; i < model.n; ++i)
    h.middleRows(begin[static_cast<std::size_t>(i)], model.length(i)) = model.embedded(i);
  for (Index l = 0; l < model.layers; ++l) {
    const RowMajor<T> q = h * matrix(in.w_q[l]), k = h * matrix(in.w_k[l]), v = h * matrix(in.w_v[l]);
    each_task(model.n, model.n * in.window > 256, [&](Index i) {
      const bool last = l + 1 == model.layers;
      const RowMajor<T> o = model.attention(last ? rows(q, i).bottomRows(1) : rows(q, i), rows(k, i), rows(v, i));
      if (last)
        vector(out.o[i]) = o.row(0).transpose();
      else
        h.middleRows(begin[static_cast<std::size_t>(i)], model.length(i)) = o;
    });
  }
}

template void rerun(const In<float>&, const Out<float>&);
template void rerun(const In<double>&, const Out<double>&);
template void batched(const In<float>&, const Out<float>&);
template void batched(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::window_recompute
