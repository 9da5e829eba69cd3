// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "attest/spec/positional/xl_expanded_score.hpp"

namespace attest::reference::positional::xl_expanded_score {

using attention::multi_head::projected;
using attest::spec::positional::xl_expanded_score::In;
using attest::spec::positional::xl_expanded_score::Out;

/// a_ij = score(i, j)
template <class T, class F>
void each_pair(const In<T>& in, const Out<T>& out, F&& score) {
  for (Index i = 0; i < in.x_q.extent(0); ++i)
    for (Index j = 0; j < in.x_k.extent(0); ++j) out.a(i, j) = score(i, j);
}

/// a_ij = x_i w_q w_k^T x_j^T + x_i w_q w_k^T p_j^T + p_i w_q w_k^T x_j^T + p_i w_q w_k^T p_j^T      [Dai et al. 2019, section 3.3]
template <class T>
void four_terms(const In<T>& in, const Out<T>& out) {
  const Matrix<T> x_q = projected(in.x_q, in.w_q), p_q = projected(in.p_q, in.w_q);
  const Matrix<T> x_k = projected(in.x_k, in.w_k), p_k = projected(in.p_k, in.w_k);
  each_pair(in, out, [&](Index i, Index j) {
    return T(dot<T>(x_q[i], x_k[j]) + dot<T>(x_q[i], p_k[j]) + dot<T>(p_q[i], x_k[j]) + dot<T>(p_q[i], p_k[j]));
  });
}

/// x + p
template <class T>
Matrix<T> placed(View<const T, 2> x, View<const T, 2> p) {
  Matrix<T> y(x.extent(0), x.extent(1));
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index a = 0; a < y.extent(1); ++a) y(i, a) = x(i, a) + p(i, a);
  return y;
}

/// a_ij = ((x_i + p_i) w_q) . ((x_j + p_j) w_k)
template <class T>
void factored(const In<T>& in, const Out<T>& out) {
  const Matrix<T> q = projected<T>(placed(in.x_q, in.p_q).view(), in.w_q), k = projected<T>(placed(in.x_k, in.p_k).view(), in.w_k);
  each_pair(in, out, [&](Index i, Index j) { return dot<T>(q[i], k[j]); });
}

/// a_ij = (x_i + p_i) G (x_j + p_j)^T,  G = w_q w_k^T
template <class T>
void metric(const In<T>& in, const Out<T>& out) {
  Matrix<T> G(in.w_q.extent(0), in.w_k.extent(0));
  for (Index a = 0; a < G.extent(0); ++a)
    for (Index b = 0; b < G.extent(1); ++b) G(a, b) = dot<T>(in.w_q[a], in.w_k[b]);
  const Matrix<T> y = projected<T>(placed(in.x_q, in.p_q).view(), std::as_const(G).view()), k = placed(in.x_k, in.p_k);
  each_pair(in, out, [&](Index i, Index j) { return dot<T>(y[i], k[j]); });
}

}  // namespace attest::reference::positional::xl_expanded_score
