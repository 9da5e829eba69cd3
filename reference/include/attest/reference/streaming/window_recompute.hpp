// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/positional/sinusoidal.hpp"
#include "attest/spec/streaming/window_recompute.hpp"

namespace attest::reference::streaming::window_recompute {

namespace plain = attention::scaled_dot_product;
using In = attest::spec::streaming::window_recompute::In<Number>;
using Out = attest::spec::streaming::window_recompute::Out<Number>;
using attest::spec::streaming::window_recompute::Position;

inline Index first_of(const In& in, Index i) { return std::max<Index>(0, i - in.window + 1); }

/// Rows first .. last of the tokens, with positions from `start`.
inline Matrix embedded(const In& in, Index first, Index last, Index start = 0) {
  const auto x = in.x.rows(first, last - first + 1);
  Matrix h(x, x.extent(0), x.extent(1));
  if (in.position == Position::sinusoidal)
    positional::sinusoidal::exponential({.x = x, .start = start}, {.y = h.view()});
  return h;
}

/// h W, from row `from` on.
inline Matrix projected(const Matrix& h, const View<const Number, 2>& w, Index from = 0) {
  Matrix y(h.extent(0) - from, w.extent(1));
  for (Index r = from; r < h.extent(0); ++r) {
    const auto row = product(h[r], w);
    for (Index c = 0; c < row.extent(); ++c) y(r - from, c) = row(c);
  }
  return stage("projections", std::move(y));
}

/// Causal attention of layer l, from row `from` on.
inline Matrix layer(const In& in, const Matrix& h, Index l, Index from = 0) {
  const Matrix q = projected(h, in.w_q[l], from), k = projected(h, in.w_k[l]), v = projected(h, in.w_v[l]);
  plain::In one;
  one.q = q.view(), one.k = k.view(), one.v = v.view(), one.scale = in.scale, one.causal = true;
  Matrix o(q.extent(0), v.extent(1));
  plain::max_shift(one, plain::Out{o.view()});
  return stage("hidden states", std::move(o));
}

inline void write_last(const Out& out, Index i, const Matrix& h) {
  for (Index c = 0; c < h.extent(1); ++c) out.o(i, c) = h(h.extent(0) - 1, c);
}

/// The model over the window of each token.
inline void rerun(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) {
    Matrix h = embedded(in, first_of(in, i), i);
    for (Index l = 0; l < in.w_q.extent(0); ++l) h = layer(in, h, l);
    write_last(out, i, h);
  }
}

/// Layer by layer over all windows; of the last layer the newest token alone.
inline void batched(const In& in, const Out& out) {
  const auto rows = wanted(out.o);
  std::vector<Matrix> windows;
  for (const Index i : rows) windows.push_back(embedded(in, first_of(in, i), i));
  const Index last = in.w_q.extent(0) - 1;
  for (Index l = 0; l <= last; ++l)
    for (Matrix& h : windows) h = layer(in, h, l, l == last ? h.extent(0) - 1 : 0);
  for (std::size_t t = 0; t < rows.size(); ++t) write_last(out, rows[t], windows[t]);
}

}  // namespace attest::reference::streaming::window_recompute
