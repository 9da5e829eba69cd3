// SPDX-License-Identifier: MIT
#include "attest/spec/positional/distance_aware.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::positional::distance_aware {

using attest::spec::positional::distance_aware::In;
using attest::spec::positional::distance_aware::Out;

template <class T>
T log_one_plus_exp(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

/// The factors know the distance only: one for each distance that occurs.
template <class T>
Column<T> factors(const In<T>& in) {
  const Index longest = std::max(in.q.extent(0), in.k.extent(0));
  const T alpha = in.alpha(), beta = in.beta(), highest = log_one_plus_exp(beta);
  Column<T> f(longest);
  for (Index r = 0; r < longest; ++r) f(r) = std::exp(highest - log_one_plus_exp(beta - alpha * static_cast<T>(r)));
  return f;
}

/// Every form: the logits of a row from its products and factors.
template <class T, class F>
void each_query(const In<T>& in, const Out<T>& out, F&& logits) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(1)));
  const Column<T> by_distance = factors(in);
#pragma omp parallel for schedule(static) if (n * s > 256)
  for (Index i = 0; i < n; ++i) {
    Column<T> f(s);
    for (Index j = 0; j < s; ++j) f(j) = by_distance(std::abs(i - j));
    Column<T> w = logits(scale, Column<T>(matrix(in.k) * vector(in.q[i])), f);
    w = (w.array() - w.maxCoeff()).exp();
    vector(out.o[i]) = matrix(in.v).transpose() * w / w.sum();
    if (out.f) vector(out.f[i]) = f;
  }
}

/// The factor on positive products.
template <class T>
void softplus(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [](T scale, const Column<T>& products, const Column<T>& f) -> Column<T> {
    return scale * products.cwiseMax(T(0)).cwiseProduct(f);
  });
}

/// The factor on all products, then what is positive.
template <class T>
void relu_after(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [](T scale, const Column<T>& products, const Column<T>& f) -> Column<T> {
    return scale * products.cwiseProduct(f).cwiseMax(T(0));
  });
}

template void softplus(const In<float>&, const Out<float>&);
template void softplus(const In<double>&, const Out<double>&);
template void relu_after(const In<float>&, const Out<float>&);
template void relu_after(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::distance_aware
