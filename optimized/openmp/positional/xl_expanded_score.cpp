// SPDX-License-Identifier: MIT
#include "attest/spec/positional/xl_expanded_score.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::positional::xl_expanded_score {

using attest::spec::positional::xl_expanded_score::In;
using attest::spec::positional::xl_expanded_score::Out;

/// left right^T, rows of the result shared among the threads.
template <class T>
void outer(const RowMajor<T>& left, const RowMajor<T>& right, const Out<T>& out) {
  auto a = matrix(out.a);
  each_tile(left.rows(), [&](Index first, Index count) {
    a.middleRows(first, count) = left.middleRows(first, count) * right.transpose();
  });
}

/// The four pairs of projections side by side: one product of width 4d adds up all terms.
template <class T>
void four_terms(const In<T>& in, const Out<T>& out) {
  const Index n = in.x_q.extent(0), s = in.x_k.extent(0), d = in.w_q.extent(1);
  RowMajor<T> q(n, 4 * d), k(s, 4 * d);
  const RowMajor<T> x_q = matrix(in.x_q) * matrix(in.w_q), p_q = matrix(in.p_q) * matrix(in.w_q);
  const RowMajor<T> x_k = matrix(in.x_k) * matrix(in.w_k), p_k = matrix(in.p_k) * matrix(in.w_k);
  q << x_q, x_q, p_q, p_q;
  k << x_k, p_k, x_k, p_k;
  outer(q, k, out);
}

template <class T>
void factored(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> q = (matrix(in.x_q) + matrix(in.p_q)) * matrix(in.w_q),
                    k = (matrix(in.x_k) + matrix(in.p_k)) * matrix(in.w_k);
  outer(q, k, out);
}

template <class T>
void metric(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> metric = matrix(in.w_q) * matrix(in.w_k).transpose();
  const RowMajor<T> q = (matrix(in.x_q) + matrix(in.p_q)) * metric, k = matrix(in.x_k) + matrix(in.p_k);
  outer(q, k, out);
}

template void four_terms(const In<float>&, const Out<float>&);
template void four_terms(const In<double>&, const Out<double>&);
template void factored(const In<float>&, const Out<float>&);
template void factored(const In<double>&, const Out<double>&);
template void metric(const In<float>&, const Out<float>&);
template void metric(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::xl_expanded_score
