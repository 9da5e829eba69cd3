// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "attest/reference/infini/segment_attention.hpp"
#include "attest/spec/infini/multi_head.hpp"

namespace attest::reference::infini::multi_head {

using attest::spec::infini::multi_head::In;
using attest::spec::infini::multi_head::Out;

/// x w
template <class T>
Matrix<T> product(View<const T, 2> x, View<const T, 2> w) {
  Matrix<T> y(x.extent(0), w.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = dot<T>(x[i], w.column(a));
  return y;
}

/// One head's queries, keys, values, gate and memory.
template <class T>
segment_attention::In<T> head_input(const In<T>& in, Index g, View<const T, 2> q, View<const T, 2> k, View<const T, 2> v) {
  segment_attention::In<T> head;
  head.q = q, head.k = k, head.v = v, head.beta = {&in.beta(g), {}};
  if (in.memory) head.memory = in.memory[g];
  if (in.z) head.z = in.z[g];
  head.segment = in.segment, head.update = in.update, head.position = in.position;  // C1, C2
  return head;
}

/// a^g, and the head's state after the last token.
template <class T>
Matrix<T> head_output(const In<T>& in, Index g, const segment_attention::In<T>& head, const Out<T>& out) {
  Matrix<T> a(in.x.extent(0), in.w_v.extent(2));
  segment_attention::loop(head, segment_attention::Out<T>{.o = a.view(), .memory = out.memory[g], .z = out.z[g]});
  return a;
}

template <class T>
Matrix<T> head_output(const In<T>& in, Index g, const Out<T>& out) {
  const auto q = product(in.x, in.w_q[g]), k = product(in.x, in.w_k[g]), v = product(in.x, in.w_v[g]);
  return head_output(in, g, head_input(in, g, q.view(), k.view(), v.view()), out);
}

/// o_i = [a_i^0 | ... | a_i^(h-1)] w_o, the sum over all h m columns at once.
template <class T>
void project(const In<T>& in, const std::vector<Matrix<T>>& a, const Out<T>& out) {
  const Index m = in.w_o.extent(1), f = in.w_o.extent(2), width = in.w_o.extent(0) * m;
  Matrix<T> w_o(width, f);
  for (Index r = 0; r < width; ++r)
    for (Index b = 0; b < f; ++b) w_o(r, b) = in.w_o(r / m, r % m, b);
  for (Index i = 0; i < in.x.extent(0); ++i) {
    const auto row = tabulate(width, [&](Index r) { return a[static_cast<std::size_t>(r / m)](i, r % m); });
    for (Index b = 0; b < f; ++b) out.o(i, b) = dot<T>(row, w_o.column(b));
  }
}

/// Head after head, concatenated and projected      [Munkhdalai et al. 2024, eq. 7]
template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  std::vector<Matrix<T>> a;
  for (Index g = 0; g < in.beta.extent(0); ++g) a.push_back(head_output(in, g, out));
  project(in, a, out);
}

/// o = sum_g a^g w_o^g
template <class T>
void sum_of_heads(const In<T>& in, const Out<T>& out) {
  std::vector<Matrix<T>> y;
  for (Index g = 0; g < in.beta.extent(0); ++g) {
    const Matrix<T> a = head_output(in, g, out);
    y.push_back(product(a.view(), in.w_o[g]));
  }
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index b = 0; b < in.w_o.extent(2); ++b)
      out.o(i, b) = sum(in.beta.extent(0), [&](Index g) { return y[static_cast<std::size_t>(g)](i, b); });
}

/// x [w^0 | ... | w^(h-1)]: column g d + a of the product is column a of head g.
template <class T>
Matrix<T> packed_product(View<const T, 2> x, View<const T, 3> w) {
  const Index h = w.extent(0), d = w.extent(2);
  Matrix<T> y(x.extent(0), h * d);
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index r = 0; r < h * d; ++r) y(i, r) = dot<T>(x[i], w[r / d].column(r % d));
  return y;
}

/// Each head a slice of columns of the projections of all.
template <class T>
void packed(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), h = in.beta.extent(0);
  const auto q = packed_product(in.x, in.w_q), k = packed_product(in.x, in.w_k), v = packed_product(in.x, in.w_v);
  const auto slice = [&](const Matrix<T>& y, Index g) {
    const Index width = y.extent(1) / h;
    return View<const T, 2>(y.view().data() + g * width, {n, width}, {y.extent(1), 1});
  };
  std::vector<Matrix<T>> a;
  for (Index g = 0; g < h; ++g) a.push_back(head_output(in, g, head_input(in, g, slice(q, g), slice(k, g), slice(v, g)), out));
  project(in, a, out);
}

}  // namespace attest::reference::infini::multi_head
