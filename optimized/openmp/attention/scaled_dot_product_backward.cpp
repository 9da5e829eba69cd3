// SPDX-License-Identifier: MIT
#include "attest/spec/attention/scaled_dot_product_backward.hpp"

#include <algorithm>

#include "attest/openmp/attention.hpp"

namespace attest::openmp::attention::scaled_dot_product_backward {

using attest::spec::attention::scaled_dot_product_backward::In;
using attest::spec::attention::scaled_dot_product_backward::Out;

/// Row i of the weights over the visible keys.
template <class T>
Column<T> weights(const In<T>& in, Index i, const std::vector<Index>& keys) {
  const Column<T> l = logits<T>(in, i, keys, rows_of(in.k, keys));
  const Column<T> e = (l.array() - l.maxCoeff()).exp();
  return e / e.sum();
}

/// grad_q, grad_k, grad_v and grad_bias from dense weights and gradients of the logits.
template <class T>
void products(const In<T>& in, const RowMajor<T>& A, const RowMajor<T>& grad_l, const Out<T>& out) {
  const T scale = scale_of<T>(in);
  matrix(out.grad_q) = scale * (grad_l * matrix(in.k));
  matrix(out.grad_k) = scale * (grad_l.transpose() * matrix(in.q));
  matrix(out.grad_v) = A.transpose() * matrix(in.grad_o);
  if (out.grad_bias) matrix(out.grad_bias) = grad_l;
}

/// Dense A and grad_l, rows in parallel; `delta(i, a, grad_a, v)` is what each row subtracts.
template <class T, class D>
void dense(const In<T>& in, const Out<T>& out, D&& delta) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  RowMajor<T> A = RowMajor<T>::Zero(n, s), grad_l = A;
#pragma omp parallel for schedule(dynamic) if (n * s > 256)
  for (Index i = 0; i < n; ++i) {
    const auto keys = visible(in, i);
    if (keys.empty()) continue;
    const Column<T> a = weights(in, i, keys);
    const RowMajor<T> v = rows_of(in.v, keys);
    const Column<T> grad_a = v * vector(in.grad_o[i]);
    const T shared = delta(i, a, grad_a, v);
    for (std::size_t t = 0; t < keys.size(); ++t) {
      const auto at = static_cast<Index>(t);
      A(i, keys[t]) = a(at);
      grad_l(i, keys[t]) = a(at) * (grad_a(at) - shared);
    }
  }
  products(in, A, grad_l, out);
}

/// Weights kept; delta is the weighted sum of grad_a.
template <class T>
void materialised(const In<T>& in, const Out<T>& out) {
  dense(in, out, [](Index, const Column<T>& a, const Column<T>& grad_a, const RowMajor<T>&) { return a.dot(grad_a); });
}

/// delta from the output row, which a training step has at hand.
template <class T>
void delta_from_output(const In<T>& in, const Out<T>& out) {
  dense(in, out, [&](Index i, const Column<T>& a, const Column<T>&, const RowMajor<T>& v) {
    const Column<T> o = v.transpose() * a;
    return o.dot(vector(in.grad_o[i]));
  });
}

/// Blocks of queries: only the weights of one block exist at a time, rebuilt from the log-sum-exp. The gradients of
/// keys and values grow block by block, in one order whatever the number of threads.
template <class T>
void recompute(const In<T>& in, const Out<T>& out) {
  const auto [n, d] = in.q.extents();
  const auto [s, m] = in.v.extents();
  const T scale = scale_of<T>(in);
  RowMajor<T> grad_k = RowMajor<T>::Zero(s, d), grad_v = RowMajor<T>::Zero(s, m);
  for (Index first = 0; first < n; first += in.block) {  // C2
    const Index count = std::min(in.block, n - first);
    RowMajor<T> A = RowMajor<T>::Zero(count, s), grad_l = A;
#pragma omp parallel for schedule(dynamic) if (count * s > 256)
    for (Index row = 0; row < count; ++row) {
      const Index i = first + row;
      const auto keys = visible(in, i);
      if (keys.empty()) continue;
      const Column<T> l = logits<T>(in, i, keys, rows_of(in.k, keys));
      const T top = l.maxCoeff(), lse = top + std::log((l.array() - top).exp().sum());
      const Column<T> a = (l.array() - lse).exp(), grad_a = rows_of(in.v, keys) * vector(in.grad_o[i]);
      const T delta = a.dot(grad_a);
      for (std::size_t t = 0; t < keys.size(); ++t) {
        const auto at = static_cast<Index>(t);
        A(row, keys[t]) = a(at);
        grad_l(row, keys[t]) = a(at) * (grad_a(at) - delta);
      }
    }
    matrix(out.grad_q.rows(first, count)) = scale * (grad_l * matrix(in.k));
    grad_k += grad_l.transpose() * matrix(in.q.rows(first, count));
    grad_v += A.transpose() * matrix(in.grad_o.rows(first, count));
    if (out.grad_bias) matrix(out.grad_bias.rows(first, count)) = grad_l;
  }
  matrix(out.grad_k) = scale * grad_k;
  matrix(out.grad_v) = grad_v;
}

template void materialised(const In<float>&, const Out<float>&);
template void materialised(const In<double>&, const Out<double>&);
template void delta_from_output(const In<float>&, const Out<float>&);
template void delta_from_output(const In<double>&, const Out<double>&);
template void recompute(const In<float>&, const Out<float>&);
template void recompute(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::scaled_dot_product_backward
