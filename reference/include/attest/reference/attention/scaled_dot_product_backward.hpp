// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/scaled_dot_product.hpp"
#include "attest/reference/tape.hpp"
#include "attest/spec/attention/scaled_dot_product_backward.hpp"

namespace attest::reference::attention::scaled_dot_product_backward {

using In = attest::spec::attention::scaled_dot_product_backward::In<Number>;
using Out = attest::spec::attention::scaled_dot_product_backward::Out<Number>;
using scaled_dot_product::logits;
using scaled_dot_product::scale_of;
using scaled_dot_product::visible;

/// grad_q, grad_k, grad_v and grad_bias from the weights A and the gradients of the logits, both zero where invisible.
/// Keys and values that a query does not see are not read.
inline void products(const In& in, const Matrix& A, const Matrix& grad_l, const std::vector<std::vector<Index>>& keys,
                     const Out& out) {
  const auto [n, d] = in.q.extents();
  const Index s = in.v.extent(0);
  const Number scale = scale_of(in);
  std::vector<std::vector<Index>> queries(static_cast<std::size_t>(s));
  for (Index i = 0; i < n; ++i)
    for (const Index j : keys[static_cast<std::size_t>(i)]) queries[static_cast<std::size_t>(j)].push_back(i);
  using scaled_dot_product::Rows;
  for (const Index i : wanted(out.grad_q)) {
    const auto& mine = keys[static_cast<std::size_t>(i)];
    const Rows k(in.k, mine);
    const auto g = stage("grad logit factors", tabulate(static_cast<Index>(mine.size()), [&](Index t) {
                           return grad_l(i, mine[static_cast<std::size_t>(t)]);
                         }));
    const auto grad_q = stage("unscaled gradients", product(g, k));
    for (Index a = 0; a < d; ++a) out.grad_q(i, a) = scale * grad_q(a);
  }
  for (const Index j : wanted(out.grad_k)) {
    const auto& mine = queries[static_cast<std::size_t>(j)];
    const Rows q(in.q, mine), grad_o(in.grad_o, mine);
    const auto g = stage("grad logit factors", tabulate(static_cast<Index>(mine.size()), [&](Index t) {
                           return grad_l(mine[static_cast<std::size_t>(t)], j);
                         }));
    const auto w =
        stage("weight factors", tabulate(g.extent(), [&](Index t) { return A(mine[static_cast<std::size_t>(t)], j); }));
    const auto grad_k = stage("unscaled gradients", product(g, q));
    for (Index a = 0; a < d; ++a) out.grad_k(j, a) = scale * grad_k(a);
    assign(out.grad_v[j], product(w, grad_o));
  }
  for (const Index i : wanted(out.grad_bias))
    for (Index j = 0; j < s; ++j) out.grad_bias(i, j) = grad_l(i, j);
}

/// Weights and gradients of the logits, row by row; `weights(l)` gives the weights, `delta(i, keys, a, grad_a)` what is
/// subtracted.
template <class W, class D>
void each_row(const In& in, const Out& out, W&& weights, D&& delta) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const Number scale = scale_of(in);
  Matrix A(n, s), grad_l(n, s);
  std::vector<std::vector<Index>> keys;
  for (Index i = 0; i < n; ++i) {
    keys.push_back(visible(in, i));
    const auto& mine = keys.back();
    if (mine.empty()) continue;
    const auto a = weights(logits(in, scale, i, mine));
    const auto grad_a = stage("grad weights", tabulate(a.extent(), [&](Index t) {
                                return dot(in.grad_o[i], in.v[mine[static_cast<std::size_t>(t)]]);
                              }));
    const Number shared = stage("delta", delta(i, mine, a, grad_a));
    for (Index t = 0; t < a.extent(); ++t) {
      A(i, mine[static_cast<std::size_t>(t)]) = a(t);
      grad_l(i, mine[static_cast<std::size_t>(t)]) = stage("grad logits", a(t) * (grad_a(t) - shared));
    }
  }
  products(in, A, grad_l, keys, out);
}

/// grad_l_ij = a_ij (grad_a_ij - sum_r a_ir grad_a_ir)
inline void materialised(const In& in, const Out& out) {
  each_row(
      in, out, [](const Vector& l) { return softmax::shifted(l).first; },
      [](Index, const auto&, const Vector& a, const Vector& grad_a) { return dot(a, grad_a); });
}

/// a_ij = e^(l_ij - lse_i), rebuilt from the log-sum-exp alone
inline void recompute(const In& in, const Out& out) {
  each_row(
      in, out,
      [](const Vector& l) {
        const Number lse = stage("log-sum-exp", softmax::log_sum_exp(l));
        return stage("weights", tabulate(l.extent(), [&](Index t) { return softmax::exponential(l(t), lse); }));
      },
      [](Index, const auto&, const Vector& a, const Vector& grad_a) { return dot(a, grad_a); });
}

/// delta_i = grad_o_i . o_i
inline void delta_from_output(const In& in, const Out& out) {
  each_row(
      in, out, [](const Vector& l) { return softmax::shifted(l).first; },
      [&](Index i, const std::vector<Index>& keys, const Vector& a, const Vector&) {
        const scaled_dot_product::Rows v(in.v, keys);
        const auto o = stage("forward outputs", tabulate(in.v.extent(1), [&](Index c) { return dot(a, v.column(c)); }));
        return dot(in.grad_o[i], o);
      });
}

/// Reverse mode through the forward equation, in the arithmetic at hand.
inline void tape(const In& in, const Out& out) {
  Tape tape;
  const auto [n, s] = std::pair(in.q.extent(0), in.k.extent(0));
  const Matrix q = tape.variables(in.q), k = tape.variables(in.k), v = tape.variables(in.v);
  // A bias of zero stands in for an absent one, so that its gradient exists.
  const Matrix bias = tape.variables(Matrix(in.bias, n, s));
  Matrix o(n, in.v.extent(1));
  scaled_dot_product::max_shift({.q = q,
                                 .k = k,
                                 .v = v,
                                 .mask = in.mask,
                                 .bias = bias,
                                 .sink = {},
                                 .scale = in.scale,
                                 .causal = in.causal,
                                 .empty_row = scaled_dot_product::EmptyRow::zero,
                                 .block = in.block},
                                {.o = o.view()});
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < o.extent(1); ++c) tape.seed(o(i, c), in.grad_o(i, c));
  tape.differentiate();
  tape.write_adjoints(q, out.grad_q);
  tape.write_adjoints(k, out.grad_k);
  tape.write_adjoints(v, out.grad_v);
  tape.write_adjoints(bias, out.grad_bias);
}

}  // namespace attest::reference::attention::scaled_dot_product_backward
