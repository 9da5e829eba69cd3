// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/recorded.hpp"
#include "attest/spec/attention/scaled_dot_product_backward.hpp"

namespace attest::reference::attention::scaled_dot_product_backward {

using attest::spec::attention::scaled_dot_product_backward::In;
using attest::spec::attention::scaled_dot_product_backward::Out;
using scaled_dot_product::logits;
using scaled_dot_product::scale_of;
using scaled_dot_product::visible;

/// grad_q, grad_k, grad_v and grad_bias from the weights A and the gradients of the logits, both zero where invisible.
/// What a query does not see is not read.
template <class T>
void products(const In<T>& in, const Matrix<T>& A, const Matrix<T>& grad_l, const std::vector<std::vector<Index>>& keys,
              const Out<T>& out) {
  const auto [n, d] = in.q.extents();
  const auto [s, m] = in.v.extents();
  const T scale = scale_of<T>(in);
  std::vector<std::vector<Index>> queries(static_cast<std::size_t>(s));
  for (Index i = 0; i < n; ++i)
    for (const Index j : keys[static_cast<std::size_t>(i)]) queries[static_cast<std::size_t>(j)].push_back(i);
  using scaled_dot_product::Rows;
  for (Index i = 0; i < n; ++i) {
    const auto& mine = keys[static_cast<std::size_t>(i)];
    const Rows<T> k(in.k, mine);
    const auto g = tabulate(static_cast<Index>(mine.size()), [&](Index t) { return grad_l(i, mine[static_cast<std::size_t>(t)]); });
    for (Index a = 0; a < d; ++a) out.grad_q(i, a) = scale * dot<T>(g, k.column(a));
  }
  for (Index j = 0; j < s; ++j) {
    const auto& mine = queries[static_cast<std::size_t>(j)];
    const Rows<T> q(in.q, mine), grad_o(in.grad_o, mine);
    const auto g = tabulate(static_cast<Index>(mine.size()), [&](Index t) { return grad_l(mine[static_cast<std::size_t>(t)], j); });
    const auto w = tabulate(g.extent(), [&](Index t) { return A(mine[static_cast<std::size_t>(t)], j); });
    for (Index a = 0; a < d; ++a) out.grad_k(j, a) = scale * dot<T>(g, q.column(a));
    for (Index c = 0; c < m; ++c) out.grad_v(j, c) = dot<T>(w, grad_o.column(c));
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) out.grad_bias(i, j) = grad_l(i, j);
}

/// Weights and gradients of the logits, row by row; `weights(l)` gives the weights, `delta(i, keys, a, grad_a)` what is
/// subtracted.
template <class T, class W, class D>
void each_row(const In<T>& in, const Out<T>& out, W&& weights, D&& delta) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const T scale = scale_of<T>(in);
  Matrix<T> A(n, s), grad_l(n, s);
  std::vector<std::vector<Index>> keys;
  for (Index i = 0; i < n; ++i) {
    keys.push_back(visible(in, i));
    const auto& mine = keys.back();
    if (mine.empty()) continue;
    const auto a = weights(logits(in, scale, i, mine));
    const auto grad_a = tabulate(a.extent(), [&](Index t) { return dot<T>(in.grad_o[i], in.v[mine[static_cast<std::size_t>(t)]]); });
    const T shared = delta(i, mine, a, grad_a);
    for (Index t = 0; t < a.extent(); ++t) {
      A(i, mine[static_cast<std::size_t>(t)]) = a(t);
      grad_l(i, mine[static_cast<std::size_t>(t)]) = a(t) * (grad_a(t) - shared);
    }
  }
  products(in, A, grad_l, keys, out);
}

/// grad_l_ij = a_ij (grad_a_ij - sum_r a_ir grad_a_ir)
template <class T>
void materialised(const In<T>& in, const Out<T>& out) {
  each_row(
      in, out, [](const Vector<T>& l) { return softmax::shifted(l).first; },
      [](Index, const auto&, const Vector<T>& a, const Vector<T>& grad_a) { return dot<T>(a, grad_a); });
}

/// a_ij = e^(l_ij - lse_i), rebuilt from the log-sum-exp alone
template <class T>
void recompute(const In<T>& in, const Out<T>& out) {
  each_row(
      in, out,
      [](const Vector<T>& l) {
        const T lse = softmax::shifted(l).second;
        return tabulate(l.extent(), [&](Index t) { return exp(l(t) - lse); });
      },
      [](Index, const auto&, const Vector<T>& a, const Vector<T>& grad_a) { return dot<T>(a, grad_a); });
}

/// delta_i = grad_o_i . o_i
template <class T>
void delta_from_output(const In<T>& in, const Out<T>& out) {
  each_row(
      in, out, [](const Vector<T>& l) { return softmax::shifted(l).first; },
      [&](Index i, const std::vector<Index>& keys, const Vector<T>& a, const Vector<T>&) {
        const scaled_dot_product::Rows<T> v(in.v, keys);
        const auto o = tabulate(in.v.extent(1), [&](Index c) { return dot<T>(a, v.column(c)); });
        return dot<T>(in.grad_o[i], o);
      });
}

/// Reverse mode through the forward equation, in T's own arithmetic.
template <class T>
void tape(const In<T>& in, const Out<T>& out) {
  using V = Tape<T>;
  Recording<T> recording;
  const auto [n, s] = std::pair(in.q.extent(0), in.k.extent(0));
  const Matrix<V> q = variables<T>(in.q), k = variables<T>(in.k), v = variables<T>(in.v);
  // A bias of zero stands in for an absent one, so that its gradient exists.
  Matrix<V> bias(n, s), o(n, in.v.extent(1));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < s; ++j) bias(i, j) = V::variable(in.bias ? in.bias(i, j) : T(0));
  scaled_dot_product::max_shift<V>(
      {.q = q.view(), .k = k.view(), .v = v.view(), .mask = in.mask, .bias = std::as_const(bias).view(), .scale = in.scale,
       .causal = in.causal, .empty_row = "zero", .block = in.block},
      {.o = o.view()});
  std::vector<std::pair<Index, T>> seeds;
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < o.extent(1); ++c) seeds.emplace_back(o(i, c).index(), in.grad_o(i, c));
  const auto adjoint = recording.adjoints(seeds);
  write_adjoints(adjoint, q, out.grad_q);
  write_adjoints(adjoint, k, out.grad_k);
  write_adjoints(adjoint, v, out.grad_v);
  write_adjoints(adjoint, bias, out.grad_bias);
}

}  // namespace attest::reference::attention::scaled_dot_product_backward
