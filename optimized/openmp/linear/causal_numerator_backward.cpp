// SPDX-License-Identifier: MIT
#include "attest/spec/linear/causal_numerator_backward.hpp"

#include <algorithm>

#include "attest/openmp/masked_products.hpp"

namespace attest::openmp::linear::causal_numerator_backward {

using attest::spec::linear::causal_numerator_backward::In;
using attest::spec::linear::causal_numerator_backward::Out;

/// The tensors side by side in memory, in the order of time or against it.
template <class T>
struct Tokens {
  RowMajor<T> q, k, v, g;

  explicit Tokens(const In<T>& in) : q(matrix(in.phi_q)), k(matrix(in.phi_k)), v(matrix(in.v)), g(matrix(in.grad_o)) {}

  Tokens reversed() const {
    Tokens x = *this;
    for (auto* rows : {&x.q, &x.k, &x.v, &x.g}) rows->colwise().reverseInPlace();
    return x;
  }
};

/// The forward and the backward sweep need nothing of each other. S is never taken as the total minus R, which would
/// cancel where the one dwarfs the other.
template <class T>
void two_sweeps(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), c = x.k.cols(), m = x.v.cols();
#pragma omp parallel sections
  {
#pragma omp section
    {
      RowMajor<T> S = RowMajor<T>::Zero(c, m);
      for (Index i = 0; i < n; ++i) {
        S.noalias() += x.k.row(i).transpose() * x.v.row(i);
        vector(out.grad_phi_q[i]) = S * x.g.row(i).transpose();
      }
    }
#pragma omp section
    {
      RowMajor<T> R = RowMajor<T>::Zero(c, m);
      for (Index i = n - 1; i >= 0; --i) {
        R.noalias() += x.q.row(i).transpose() * x.g.row(i);
        vector(out.grad_phi_k[i]) = R * x.v.row(i).transpose();
        vector(out.grad_v[i]) = R.transpose() * x.k.row(i).transpose();
      }
    }
  }
}

/// All pairs of tokens; the tiles of every gradient are independent, and no matrix of n times n is ever stored.
template <class T>
void masked_matrices(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows();
  each_tile(n, [&](Index first, Index count) {
    matrix(out.grad_phi_q).middleRows(first, count) = look_back(x.g, x.v, x.k, first, count, 0);
    matrix(out.grad_phi_k).middleRows(first, count) = look_ahead(x.g, x.v, x.q, first, count, n);
    matrix(out.grad_v).middleRows(first, count) = look_ahead(x.q, x.k, x.g, first, count, n);
  });
}

/// tril(a b^T) c with a running sum of b_j c_j^T. Its columns are independent: each thread walks through all
/// tokens with its own.
template <class T>
RowMajor<T> causal_product(const RowMajor<T>& a, const RowMajor<T>& b, const RowMajor<T>& c) {
  RowMajor<T> result(a.rows(), c.cols());
  each_tile(c.cols(), [&](Index first, Index count) {
    RowMajor<T> sum = RowMajor<T>::Zero(b.cols(), count);
    for (Index i = 0; i < a.rows(); ++i) {
      sum.noalias() += b.row(i).transpose() * c.row(i).segment(first, count);
      result.row(i).segment(first, count).noalias() = a.row(i) * sum;
    }
  });
  return result;
}

/// One routine three times: keys and values look ahead, which is looking back in reversed time.
template <class T>
void causal_products(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in), r = x.reversed();
  matrix(out.grad_phi_q) = causal_product(x.g, x.v, x.k);
  matrix(out.grad_phi_k) = causal_product(r.v, r.g, r.q).colwise().reverse();
  matrix(out.grad_v) = causal_product(r.k, r.q, r.g).colwise().reverse();
}

/// Chunks in matrix products: a prefix state goes from left to right, a suffix state from right to left.
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  const Tokens<T> x(in);
  const Index n = x.v.rows(), c = x.k.cols(), m = x.v.cols();
  const Index chunk = std::max<Index>(std::min(in.chunk, n), 1), chunks = (n + chunk - 1) / chunk;  // C1
#pragma omp parallel sections
  {
#pragma omp section
    {
      RowMajor<T> S = RowMajor<T>::Zero(c, m);
      for (Index t = 0; t < chunks; ++t) {
        const Index first = t * chunk, count = std::min(chunk, n - first);
        RowMajor<T> rows = look_back(x.g, x.v, x.k, first, count, first);
        rows.noalias() += x.g.middleRows(first, count) * S.transpose();
        matrix(out.grad_phi_q).middleRows(first, count) = rows;
        S.noalias() += x.k.middleRows(first, count).transpose() * x.v.middleRows(first, count);
      }
    }
#pragma omp section
    {
      RowMajor<T> R = RowMajor<T>::Zero(c, m);
      for (Index t = chunks - 1; t >= 0; --t) {
        const Index first = t * chunk, count = std::min(chunk, n - first);
        RowMajor<T> keys = look_ahead(x.g, x.v, x.q, first, count, first + count);
        keys.noalias() += x.v.middleRows(first, count) * R.transpose();
        matrix(out.grad_phi_k).middleRows(first, count) = keys;
        RowMajor<T> values = look_ahead(x.q, x.k, x.g, first, count, first + count);
        values.noalias() += x.k.middleRows(first, count) * R;
        matrix(out.grad_v).middleRows(first, count) = values;
        R.noalias() += x.q.middleRows(first, count).transpose() * x.g.middleRows(first, count);
      }
    }
  }
}

template void two_sweeps(const In<float>&, const Out<float>&);
template void two_sweeps(const In<double>&, const Out<double>&);
template void masked_matrices(const In<float>&, const Out<float>&);
template void masked_matrices(const In<double>&, const Out<double>&);
template void causal_products(const In<float>&, const Out<float>&);
template void causal_products(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::causal_numerator_backward
