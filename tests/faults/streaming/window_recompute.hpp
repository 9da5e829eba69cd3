// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/window_recompute.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::window_recompute {

namespace right = attest::reference::streaming::window_recompute;
namespace plain = attest::reference::attention::scaled_dot_product;
using right::In;
using right::Out;
using right::Position;

inline Index layers(const In& in) { return in.w_q.extent(0); }

/// The model over the window of each token: rows of layer l from h by f(h, l).
template <class F>
void with_layer(const In& in, const Out& out, F&& layer) {
  for (const Index i : wanted(out.o)) {
    Matrix h = right::embedded(in, right::first_of(in, i), i);
    for (Index l = 0; l < layers(in); ++l) h = layer(h, l);
    right::write_last(out, i, h);
  }
}

/// What is returned is change(all rows of the window).
template <class F>
void with_result(const In& in, const Out& out, F&& change) {
  for (const Index i : wanted(out.o)) {
    Matrix h = right::embedded(in, right::first_of(in, i), i);
    for (Index l = 0; l < layers(in); ++l) h = right::layer(in, h, l);
    for (Index c = 0; c < h.extent(1); ++c) out.o(i, c) = change(h, c);
  }
}

/// Attention of rows h as layer l has it, without the causal order, or to the last `window` rows alone.
inline Matrix attended(const In& in, const Matrix& h, Index l, bool causal, Index window) {
  const Matrix q = right::projected(h, in.w_q[l]), k = right::projected(h, in.w_k[l]),
               v = right::projected(h, in.w_v[l]);
  plain::In one;
  one.q = q.view(), one.k = k.view(), one.v = v.view(), one.scale = in.scale, one.causal = causal;
  one.window_left = window - 1;
  Matrix o(q.extent(0), v.extent(1));
  plain::max_shift(one, plain::Out{o.view()});
  return o;
}

inline void cache_reused(const In& in, const Out& out) {
  const Index n = in.x.extent(0);
  Matrix h(n, in.x.extent(1));
  for (Index i = 0; i < n; ++i) {  // each token with the position at which it came
    const Matrix window = right::embedded(in, right::first_of(in, i), i);
    for (Index c = 0; c < h.extent(1); ++c) h(i, c) = window(window.extent(0) - 1, c);
  }
  for (Index l = 0; l < layers(in); ++l) h = attended(in, h, l, true, in.window);
  for (const Index i : wanted(out.o))
    for (Index c = 0; c < h.extent(1); ++c) out.o(i, c) = h(i, c);
}

inline void absolute_positions(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) {
    const Index first = right::first_of(in, i);
    Matrix h = right::embedded(in, first, i, first);
    for (Index l = 0; l < layers(in); ++l) h = right::layer(in, h, l);
    right::write_last(out, i, h);
  }
}

inline void with_window(const In& in, const Out& out, Index window) {
  In other = in;
  other.window = window;
  right::rerun(other, out);
}

inline void window_off_by_one(const In& in, const Out& out) { with_window(in, out, in.window + 1); }
inline void window_minus_one(const In& in, const Out& out) { with_window(in, out, std::max<Index>(1, in.window - 1)); }
inline void window_ignored(const In& in, const Out& out) { with_window(in, out, in.x.extent(0)); }

inline void first_row_returned(const In& in, const Out& out) {
  with_result(in, out, [](const Matrix& h, Index c) { return h(0, c); });
}

inline void mean_returned(const In& in, const Out& out) {
  with_result(in, out, [](const Matrix& h, Index c) {
    return sum(h.extent(0), [&](Index r) { return h(r, c); }) / Number(h.extent(0));
  });
}

inline void not_causal(const In& in, const Out& out) {
  with_layer(in, out, [&](const Matrix& h, Index l) { return attended(in, h, l, false, 0); });
}

inline void position_ignored(const In& in, const Out& out) {
  In other = in;
  other.position = Position::none;
  right::rerun(other, out);
}

inline void positions_from_the_end(const In& in, const Out& out) {
  for (const Index i : wanted(out.o)) {
    const Index first = right::first_of(in, i);
    Matrix h(i - first + 1, in.x.extent(1));
    for (Index j = first; j <= i; ++j) {
      const Matrix one = right::embedded(in, j, j, i - j);
      for (Index c = 0; c < h.extent(1); ++c) h(j - first, c) = one(0, c);
    }
    for (Index l = 0; l < layers(in); ++l) h = right::layer(in, h, l);
    right::write_last(out, i, h);
  }
}

inline void last_layer_missing(const In& in, const Out& out) {
  with_layer(in, out, [&](const Matrix& h, Index l) { return l + 1 < layers(in) ? right::layer(in, h, l) : h; });
}

inline void first_layer_for_all(const In& in, const Out& out) {
  with_layer(in, out, [&](const Matrix& h, Index) { return right::layer(in, h, 0); });
}

inline void keys_and_values_swapped(const In& in, const Out& out) {
  In other = in;
  std::swap(other.w_k, other.w_v);
  right::rerun(other, out);
}

inline void residual_added(const In& in, const Out& out) {
  with_layer(in, out, [&](const Matrix& h, Index l) {
    const Matrix a = right::layer(in, h, l);
    return matrix_of(h.extent(0), h.extent(1), [&](Index r, Index c) { return h(r, c) + a(r, c); });
  });
}

/// The equation with query projections that are multiplied by a factor.
inline void with_queries(const In& in, const Out& out, const Number& factor) {
  std::vector<Number> w;
  for (Index l = 0; l < layers(in); ++l)
    for (Index r = 0; r < in.w_q.extent(1); ++r)
      for (Index c = 0; c < in.w_q.extent(2); ++c) w.push_back(factor * in.w_q(l, r, c));
  In other = in;
  other.w_q = {w.data(), in.w_q.extents()};
  right::rerun(other, out);
}

inline void scale_missing(const In& in, const Out& out) {
  with_queries(in, out, in.scale ? Number(1) : sqrt(Number(in.x.extent(1))));
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale.reset();
  right::rerun(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) { with_queries(in, out, Number(1) + c); }

}  // namespace attest::faults::streaming::window_recompute
