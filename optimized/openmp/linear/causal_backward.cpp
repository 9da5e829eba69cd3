// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_backward.hpp"

#include "attest/openmp/masked_products.hpp"

namespace attest::openmp::linear::causal_backward {

using attest::spec::linear::causal_backward::In;
using attest::spec::linear::causal_backward::Out;

/// The tensors side by side in memory. The values get a column of ones, so that S and Z are one state [S | Z]; G is
/// [grad_o / d | e], zero where d is.
template <class T>
struct Tokens {
  RowMajor<T> q, k, v, g;

  explicit Tokens(const In<T>& in)
      : q(matrix(in.phi_q)),
        k(matrix(in.phi_k)),
        v(in.v.extent(0), in.v.extent(1) + 1),
        g(RowMajor<T>::Zero(v.rows(), v.cols())) {
    v.leftCols(v.cols() - 1) = matrix(in.v);
    v.col(v.cols() - 1).setOnes();
  }

  /// Row i of g, given the row [numerator | denominator] of the forward pass (C1).
  template <class Row>
  void normalise(const In<T>& in, Index i, const Row& forward) {
    const Index m = v.cols() - 1;
    const T d = forward(m) + static_cast<T>(in.eps);
    if (d == 0) return;
    g.row(i).head(m) = vector(in.grad_o[i]).transpose() / d;
    g(i, m) = -g.row(i).head(m).dot(forward.head(m)) / d;
  }
};

/// Forward token by token: at token i the state gives the row of the forward pass, it G_i and e_i, and with them the
/// query's gradient at once. Backward with the sum of phi_q_j [G_j | e_j]^T, whose last column is the denominator's
/// share.
template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  Tokens<T> x(in);
  const Index n = x.v.rows(), c = x.k.cols(), m = x.v.cols() - 1;
  RowMajor<T> state = RowMajor<T>::Zero(c, m + 1);
  for (Index i = 0; i < n; ++i) {
    state.noalias() += x.k.row(i).transpose() * x.v.row(i);
    x.normalise(in, i, (x.q.row(i) * state).eval());
    vector(out.grad_phi_q[i]) = state * x.g.row(i).transpose();
  }
  state.setZero();
  for (Index i = n - 1; i >= 0; --i) {
    state.noalias() += x.q.row(i).transpose() * x.g.row(i);
    vector(out.grad_phi_k[i]) = state * x.v.row(i).transpose();
    vector(out.grad_v[i]) = state.leftCols(m).transpose() * x.k.row(i).transpose();
  }
}

/// Masked products alone: the forward pass in tiles, then the gradients of the numerator with one more column.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  Tokens<T> x(in);
  const Index n = x.v.rows(), m = x.v.cols() - 1;
  each_tile(n, [&](Index first, Index count) {
    const RowMajor<T> forward = look_back(x.q, x.k, x.v, first, count, 0);
    for (Index i = 0; i < count; ++i) x.normalise(in, first + i, forward.row(i));
  });
  each_tile(n, [&](Index first, Index count) {
    matrix(out.grad_phi_q).middleRows(first, count) = look_back(x.g, x.v, x.k, first, count, 0);
    matrix(out.grad_phi_k).middleRows(first, count) = look_ahead(x.g, x.v, x.q, first, count, n);
    matrix(out.grad_v).middleRows(first, count) = look_ahead(x.q, x.k, x.g, first, count, n).leftCols(m);
  });
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_backward
