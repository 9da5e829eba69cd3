// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/attention/qkv_projection.hpp"

namespace attest::reference::attention::qkv_projection {

using In = attest::spec::attention::qkv_projection::In<Number>;
using Out = attest::spec::attention::qkv_projection::Out<Number>;

/// y_ia = f(i, a)
template <class F>
void fill(const View<Number, 2>& y, F&& f) {
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = f(i, a);
}

/// q = x w_q,  k = x_kv w_k,  v = x_kv w_v      [Vaswani et al. 2017, section 3.2.2]
inline void separate(const In& in, const Out& out) {
  fill(out.q, [&](Index i, Index a) { return dot(in.x[i], in.w_q.column(a)); });
  fill(out.k, [&](Index j, Index a) { return dot(in.x_kv[j], in.w_k.column(a)); });
  fill(out.v, [&](Index j, Index c) { return dot(in.x_kv[j], in.w_v.column(c)); });
}

/// [w_q | w_k | w_v]
inline Matrix side_by_side(const In& in) {
  const auto [f, d] = in.w_q.extents();
  Matrix w(f, 2 * d + in.w_v.extent(1));
  for (Index r = 0; r < w.extent(0); ++r)
    for (Index t = 0; t < w.extent(1); ++t)
      w(r, t) = t < d ? in.w_q(r, t) : t < 2 * d ? in.w_k(r, t - d) : in.w_v(r, t - 2 * d);
  return w;
}

/// Columns of x [w_q | w_k | w_v]: q is the first d of x, k the next d and v the rest of x_kv.
inline void fused(const In& in, const Out& out) {
  const Matrix w = side_by_side(in);
  const Index d = in.w_q.extent(1);
  fill(out.q, [&](Index i, Index a) { return dot(in.x[i], w.column(a)); });
  fill(out.k, [&](Index j, Index a) { return dot(in.x_kv[j], w.column(d + a)); });
  fill(out.v, [&](Index j, Index c) { return dot(in.x_kv[j], w.column(2 * d + c)); });
}

/// w^T, as a linear layer stores it.
inline Matrix transposed(View<const Number, 2> w) {
  Matrix stored(w.extent(1), w.extent(0));
  for (Index a = 0; a < stored.extent(0); ++a)
    for (Index f = 0; f < stored.extent(1); ++f) stored(a, f) = w(f, a);
  return stored;
}

/// q_ia = sum_f x_if w_q'_af with w_q' = w_q^T, k and v alike
inline void out_in(const In& in, const Out& out) {
  const Matrix w_q = transposed(in.w_q), w_k = transposed(in.w_k), w_v = transposed(in.w_v);
  fill(out.q, [&](Index i, Index a) { return dot(in.x[i], w_q[a]); });
  fill(out.k, [&](Index j, Index a) { return dot(in.x_kv[j], w_k[a]); });
  fill(out.v, [&](Index j, Index c) { return dot(in.x_kv[j], w_v[c]); });
}

}  // namespace attest::reference::attention::qkv_projection
