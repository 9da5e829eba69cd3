// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/memory/compress.hpp"
#include "attest/spec/lowrank/linformer.hpp"

namespace attest::reference::lowrank::linformer {

using In = attest::spec::lowrank::linformer::In<Number>;
using Out = attest::spec::lowrank::linformer::Out<Number>;
using attest::spec::lowrank::linformer::Sharing;
using Tokens = View<const Number, 2>;

/// w x
inline Matrix projected(const Tokens& w, const Tokens& x) {
  Matrix y(w.extent(0), x.extent(1));
  for (Index r = 0; r < y.extent(0); ++r) {
    const auto row = product(w[r], x);
    for (Index a = 0; a < y.extent(1); ++a) y(r, a) = row(a);
  }
  return y;
}

/// Tokens `length` t .. as one slot, column by column.   C1
inline Matrix pooled(const In& in, const Tokens& x) {
  const Index length = x.extent(0) / in.e.extent(0);
  Matrix y(in.e.extent(0), x.extent(1));
  for (Index r = 0; r < y.extent(0); ++r)
    for (Index a = 0; a < y.extent(1); ++a) {
      const auto token = [&](Index t) { return Number(x(r * length + t, a)); };
      y(r, a) = in.sharing == Sharing::max_pool ? memory::compress::largest(length, token)
                                                : memory::compress::mean(length, token);
    }
  return y;
}

inline bool pools(const In& in) { return in.sharing == Sharing::mean_pool || in.sharing == Sharing::max_pool; }

inline Matrix keys(const In& in) {
  return stage("projected keys", pools(in) ? pooled(in, in.k) : projected(in.e, in.k));
}

inline const Tokens& weights_of_values(const In& in) { return in.sharing == Sharing::none ? in.f : in.e; }

inline Matrix values(const In& in) {
  return stage("projected values", pools(in) ? pooled(in, in.v) : projected(weights_of_values(in), in.v));
}

/// Attention over the slots.
inline void attend(const In& in, const Out& out, const Tokens& k, const Tokens& v) {
  attention::scaled_dot_product::max_shift(
      {.q = in.q, .k = k, .v = v, .mask = {}, .bias = {}, .sink = {}, .scale = in.scale}, {.o = out.o});
}

/// o = softmax(scale q (E k)^T) F v      [Wang et al. 2020, eq. 7]
inline void project_keys(const In& in, const Out& out) {
  const Matrix k = keys(in), v = values(in);
  attend(in, out, k.view(), v.view());
}

/// The columns of k and v side by side, projected by one product.
inline void fused_heads(const In& in, const Out& out) {
  const Index s = in.k.extent(0), d = in.k.extent(1), m = in.v.extent(1);
  Matrix all(s, d + m);
  for (Index j = 0; j < s; ++j)
    for (Index a = 0; a < d + m; ++a) all(j, a) = a < d ? in.k(j, a) : in.v(j, a - d);
  const Matrix slots = stage("projected keys and values", projected(in.e, std::as_const(all).view()));
  const Tokens both = slots.view();
  attend(in, out, both.columns(0, d), both.columns(d, m));
}

/// The projections as matrices, a pool of l tokens being a row of l entries 1 / l.
inline Matrix weights(const In& in, const Tokens& given) {
  const auto [slots, s] = given.extents();
  Matrix w(slots, s);
  for (Index r = 0; r < slots; ++r)
    for (Index j = 0; j < s; ++j)
      w(r, j) = !pools(in) ? Number(given(r, j)) : j / (s / slots) == r ? rational(slots, s) : Number(0);
  return w;
}

/// o_i = (a_i F) v with logits scale (q_i k^T) E^T
inline void project_scores(const In& in, const Out& out) {
  const Matrix e = weights(in, in.e), f = weights(in, weights_of_values(in));
  const Number scale = attention::scaled_dot_product::scale_of(in);
  for (const Index i : wanted(out.o)) {
    const auto q_k = stage("products", product(in.k, in.q[i]));
    const auto l = stage("logits", tabulate(e.extent(0), [&](Index r) { return scale * dot(e[r], q_k); }));
    const auto a = attention::softmax::shifted(l).first;
    assign(out.o[i], product(stage("weights of tokens", product(a, f)), in.v));
  }
}

}  // namespace attest::reference::lowrank::linformer
