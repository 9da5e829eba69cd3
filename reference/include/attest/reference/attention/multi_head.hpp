// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/spec/attention/multi_head.hpp"

namespace attest::reference::attention::multi_head {

using In = attest::spec::attention::multi_head::In<Number>;
using Out = attest::spec::attention::multi_head::Out<Number>;

/// x w
inline Matrix projected(View<const Number, 2> x, View<const Number, 2> w) {
  Matrix y(x.extent(0), w.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = dot(x[i], w.column(a));
  return y;
}

/// Attention of one head over its projections, under the mask and the order that all heads share.
inline Matrix attended(const In& in, const Matrix& q, const Matrix& k, const Matrix& v) {
  Matrix head(q.extent(0), v.extent(1));
  scaled_dot_product::max_shift({.q = q.view(),
                                 .k = k.view(),
                                 .v = v.view(),
                                 .mask = in.mask,
                                 .bias = {},
                                 .sink = {},
                                 .scale = in.scale,
                                 .causal = in.causal},
                                {.o = head.view()});
  return head;
}

/// x W_Q, x W_K and x W_V, of one head or of all.
inline Matrix queries(View<const Number, 2> x, View<const Number, 2> w) {
  return stage("projected queries", projected(x, w));
}
inline Matrix keys(View<const Number, 2> x, View<const Number, 2> w) {
  return stage("projected keys", projected(x, w));
}
inline Matrix values(View<const Number, 2> x, View<const Number, 2> w) {
  return stage("projected values", projected(x, w));
}

/// head_h = attention(x_q W_Q[h], x_k W_K[h], x_v W_V[h])
inline Matrix head(const In& in, Index h) {
  return stage("head outputs",
               attended(in, queries(in.x_q, in.w_q[h]), keys(in.x_k, in.w_k[h]), values(in.x_v, in.w_v[h])));
}

/// [head_0 | head_1 | ..], `head(h)` being [n, m].
template <class F>
Matrix concatenated(const In& in, F&& head) {
  const Index heads = in.w_v.extent(0), m = in.w_v.extent(2);
  Matrix all(in.x_q.extent(0), heads * m);
  for (Index h = 0; h < heads; ++h) {
    const Matrix one = head(h);
    for (Index i = 0; i < all.extent(0); ++i)
      for (Index c = 0; c < m; ++c) all(i, h * m + c) = one(i, c);
  }
  return all;
}

/// o = y W_O, the rows of W_O numbered by head and column.
inline void output(const In& in, const Matrix& y, const Out& out) {
  const auto [heads, m, width] = in.w_o.extents();
  Matrix w_o(heads * m, width);
  for (Index t = 0; t < w_o.extent(0); ++t)
    for (Index e = 0; e < w_o.extent(1); ++e) w_o(t, e) = in.w_o(t / m, t % m, e);
  for (const Index i : wanted(out.o)) assign(out.o[i], product(y[i], w_o));
}

/// o = [head_0 | head_1 | ..] W_O      [Vaswani et al. 2017, section 3.2.2]
inline void loop(const In& in, const Out& out) {
  output(in, concatenated(in, [&](Index h) { return head(in, h); }), out);
}

/// [W[0] | W[1] | ..]
inline Matrix packed_weights(View<const Number, 3> w) {
  const Index width = w.extent(2);
  Matrix all(w.extent(1), w.extent(0) * width);
  for (Index f = 0; f < all.extent(0); ++f)
    for (Index t = 0; t < all.extent(1); ++t) all(f, t) = w(t / width, f, t % width);
  return all;
}

/// Head h of x [W[0] | W[1] | ..] reshaped to [tokens, heads, width].
inline Matrix columns_of_head(const Matrix& x, Index h, Index width) {
  Matrix mine(x.extent(0), width);
  for (Index i = 0; i < mine.extent(0); ++i)
    for (Index a = 0; a < width; ++a) mine(i, a) = x(i, h * width + a);
  return mine;
}

/// All heads projected at once, then split.
inline void packed(const In& in, const Out& out) {
  const Matrix q = queries(in.x_q, packed_weights(in.w_q)), k = keys(in.x_k, packed_weights(in.w_k)),
               v = values(in.x_v, packed_weights(in.w_v));
  const Index d = in.w_q.extent(2), m = in.w_v.extent(2);
  output(in,
         concatenated(in,
                      [&](Index h) {
                        return stage("head outputs", attended(in, columns_of_head(q, h, d), columns_of_head(k, h, d),
                                                              columns_of_head(v, h, m)));
                      }),
         out);
}

/// o = sum_h head_h W_O[h]
inline void sum_of_heads(const In& in, const Out& out) {
  std::vector<Matrix> share;
  for (Index h = 0; h < in.w_o.extent(0); ++h)
    share.push_back(stage("shares of the heads", projected(head(in, h), in.w_o[h])));
  for (const Index i : wanted(out.o))
    for (Index e = 0; e < out.o.extent(1); ++e)
      out.o(i, e) = sum(in.w_o.extent(0), [&](Index h) { return share[static_cast<std::size_t>(h)](i, e); });
}

}  // namespace attest::reference::attention::multi_head
