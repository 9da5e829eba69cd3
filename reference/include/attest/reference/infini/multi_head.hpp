// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "attest/reference/infini/segment_attention.hpp"
#include "attest/spec/infini/multi_head.hpp"

namespace attest::reference::infini::multi_head {

using In = attest::spec::infini::multi_head::In<Number>;
using Out = attest::spec::infini::multi_head::Out<Number>;

/// x w
inline Matrix product(View<const Number, 2> x, View<const Number, 2> w) {
  Matrix y(x.extent(0), w.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = dot(x[i], w.column(a));
  return y;
}

/// One head's queries, keys, values, gate and memory.
inline segment_attention::In head_input(const In& in, Index g, View<const Number, 2> q, View<const Number, 2> k,
                                        View<const Number, 2> v) {
  segment_attention::In head;
  head.q = q, head.k = k, head.v = v, head.beta = in.beta[g];
  if (in.memory) head.memory = in.memory[g];
  if (in.z) head.z = in.z[g];
  head.segment = in.segment, head.update = in.update, head.position = in.position;  // C1, C2
  return head;
}

/// a^g, and the head's state after the last token.
inline Matrix head_output(const In& in, Index g, const segment_attention::In& head, const Out& out) {
  Matrix a(in.x.extent(0), in.w_v.extent(2));
  segment_attention::loop(head, segment_attention::Out{.o = a.view(), .memory = out.memory[g], .z = out.z[g]});
  return stage("head outputs", std::move(a));
}

inline Matrix head_output(const In& in, Index g, const Out& out) {
  const auto q = stage("projected queries", product(in.x, in.w_q[g])),
             k = stage("projected keys", product(in.x, in.w_k[g])),
             v = stage("projected values", product(in.x, in.w_v[g]));
  return head_output(in, g, head_input(in, g, q.view(), k.view(), v.view()), out);
}

/// o_i = [a_i^0 | ... | a_i^(h-1)] w_o, the sum over all h m columns at once.
inline void project(const In& in, const std::vector<Matrix>& a, const Out& out) {
  const Index m = in.w_o.extent(1), f = in.w_o.extent(2), width = in.w_o.extent(0) * m;
  Matrix w_o(width, f);
  for (Index r = 0; r < width; ++r)
    for (Index b = 0; b < f; ++b) w_o(r, b) = in.w_o(r / m, r % m, b);
  for (const Index i : wanted(out.o)) {
    const auto row = tabulate(width, [&](Index r) { return a[static_cast<std::size_t>(r / m)](i, r % m); });
    assign(out.o[i], product(row, w_o));
  }
}

/// Head after head, concatenated and projected      [Munkhdalai et al. 2024, eq. 7]
inline void loop(const In& in, const Out& out) {
  std::vector<Matrix> a;
  for (Index g = 0; g < in.beta.extent(0); ++g) a.push_back(head_output(in, g, out));
  project(in, a, out);
}

/// o = sum_g a^g w_o^g
inline void sum_of_heads(const In& in, const Out& out) {
  std::vector<Matrix> y;
  for (Index g = 0; g < in.beta.extent(0); ++g) {
    const Matrix a = head_output(in, g, out);
    y.push_back(stage("shares of the heads", product(a.view(), in.w_o[g])));
  }
  for (const Index i : wanted(out.o))
    for (Index b = 0; b < in.w_o.extent(2); ++b)
      out.o(i, b) = sum(in.beta.extent(0), [&](Index g) { return y[static_cast<std::size_t>(g)](i, b); });
}

/// x [w^0 | ... | w^(h-1)]: column g d + a of the product is column a of head g.
inline Matrix packed_product(View<const Number, 2> x, View<const Number, 3> w) {
  const Index h = w.extent(0), d = w.extent(2);
  Matrix y(x.extent(0), h * d);
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index r = 0; r < h * d; ++r) y(i, r) = dot(x[i], w[r / d].column(r % d));
  return y;
}

/// Each head a slice of columns of the projections of all.
inline void packed(const In& in, const Out& out) {
  const Index h = in.beta.extent(0);
  const auto q = stage("projected queries", packed_product(in.x, in.w_q)),
             k = stage("projected keys", packed_product(in.x, in.w_k)),
             v = stage("projected values", packed_product(in.x, in.w_v));
  const auto slice = [&](const Matrix& y, Index g) {
    const Index width = y.extent(1) / h;
    return y.view().columns(g * width, width);
  };
  std::vector<Matrix> a;
  for (Index g = 0; g < h; ++g)
    a.push_back(head_output(in, g, head_input(in, g, slice(q, g), slice(k, g), slice(v, g)), out));
  project(in, a, out);
}

}  // namespace attest::reference::infini::multi_head
