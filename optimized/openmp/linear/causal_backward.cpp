// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_backward.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/spec/linear/causal_numerator_backward.hpp"

namespace attest::openmp::linear {

namespace causal_numerator_backward {

/// All pairs of tokens in independent tiles; instantiated in causal_numerator_backward.cpp.
template <class T>
void masked_matrices(const attest::spec::linear::causal_numerator_backward::In<T>&, const attest::spec::linear::causal_numerator_backward::Out<T>&);

}  // namespace causal_numerator_backward

namespace causal_backward {

using attest::spec::linear::causal_backward::In;
using attest::spec::linear::causal_backward::Out;

/// The tensors side by side in memory. The values get a column of ones, so that S and Z are one state [S | Z]; G is
/// [grad_o / d | e], zero where d is.
template <class T>
struct Tokens {
  RowMajor<T> q, k, v, g;

  explicit Tokens(const In<T>& in)
      : q(matrix(in.phi_q)), k(matrix(in.phi_k)), v(in.v.extent(0), in.v.extent(1) + 1), g(RowMajor<T>::Zero(v.rows(), v.cols())) {
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

/// Forward token by token: at token i the state answers the forward pass, which gives G_i and e_i, and with them the
/// query's gradient at once. Backward with the sum of phi_q_j [G_j | e_j]^T, whose last column is the denominator's share.
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

/// The forward pass as one masked product of everything, then the kernel of the numerator with one more column.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  Tokens<T> x(in);
  const Index n = x.v.rows(), m = x.v.cols() - 1;
  const RowMajor<T> seen = (x.q * x.k.transpose()).template triangularView<Eigen::Lower>();
  const RowMajor<T> forward = seen * x.v;
  for (Index i = 0; i < n; ++i) x.normalise(in, i, forward.row(i));
  RowMajor<T> grad_v(n, m + 1);
  const auto whole = [](auto& a) { return View<T, 2>(a.data(), {a.rows(), a.cols()}); };
  causal_numerator_backward::masked_matrices<T>({.phi_q = in.phi_q, .phi_k = in.phi_k, .v = whole(x.v), .grad_o = whole(x.g)},
                                                {.grad_phi_q = out.grad_phi_q, .grad_phi_k = out.grad_phi_k, .grad_v = whole(grad_v)});
  matrix(out.grad_v) = grad_v.leftCols(m);
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace causal_backward
}  // namespace attest::openmp::linear
