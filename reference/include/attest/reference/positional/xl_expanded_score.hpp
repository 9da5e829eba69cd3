// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/spec/positional/xl_expanded_score.hpp"

namespace attest::reference::positional::xl_expanded_score {

using attention::multi_head::keys;
using attention::multi_head::projected;
using attention::multi_head::queries;
using In = attest::spec::positional::xl_expanded_score::In<Number>;
using Out = attest::spec::positional::xl_expanded_score::Out<Number>;

/// a_ij = score(i, j)
template <class F>
void each_pair(const In& in, const Out& out, F&& score) {
  for (const Index i : wanted(out.a))
    for (Index j = 0; j < in.x_k.extent(0); ++j) out.a(i, j) = score(i, j);
}

/// a_ij = x_i w_q w_k^T x_j^T + x_i w_q w_k^T p_j^T + p_i w_q w_k^T x_j^T + p_i w_q w_k^T p_j^T      [Dai et al. 2019,
/// section 3.3]
inline void four_terms(const In& in, const Out& out) {
  const auto positions = [](View<const Number, 2> p, View<const Number, 2> w) {
    return stage("projected positions", projected(p, w));
  };
  const Matrix x_q = queries(in.x_q, in.w_q), p_q = positions(in.p_q, in.w_q);
  const Matrix x_k = keys(in.x_k, in.w_k), p_k = positions(in.p_k, in.w_k);
  const auto product = [](const Row& x, const Row& y) { return stage("products", dot(x, y)); };
  each_pair(in, out, [&](Index i, Index j) {
    return product(x_q[i], x_k[j]) + product(x_q[i], p_k[j]) + product(p_q[i], x_k[j]) + product(p_q[i], p_k[j]);
  });
}

/// x + p
inline Matrix placed(View<const Number, 2> x, View<const Number, 2> p) {
  Matrix y(x.extent(0), x.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = stage("tokens with embeddings", x(i, a) + p(i, a));
  return y;
}

/// a_ij = ((x_i + p_i) w_q) . ((x_j + p_j) w_k)
inline void factored(const In& in, const Out& out) {
  const Matrix q = queries(placed(in.x_q, in.p_q), in.w_q), k = keys(placed(in.x_k, in.p_k), in.w_k);
  each_pair(in, out, [&](Index i, Index j) { return dot(q[i], k[j]); });
}

/// a_ij = (x_i + p_i) G (x_j + p_j)^T,  G = w_q w_k^T
inline void metric(const In& in, const Out& out) {
  Matrix G(in.w_q.extent(0), in.w_k.extent(0));
  for (Index a = 0; a < G.extent(0); ++a)
    for (Index b = 0; b < G.extent(1); ++b) G(a, b) = stage("metric", dot(in.w_q[a], in.w_k[b]));
  const Matrix y = queries(placed(in.x_q, in.p_q), G), k = placed(in.x_k, in.p_k);
  each_pair(in, out, [&](Index i, Index j) { return dot(y[i], k[j]); });
}

}  // namespace attest::reference::positional::xl_expanded_score
