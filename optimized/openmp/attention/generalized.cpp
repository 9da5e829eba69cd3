// SPDX-License-Identifier: MIT
#include "attest/spec/attention/generalized.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention::generalized {

using attest::spec::attention::generalized::In;
using attest::spec::attention::generalized::Out;
using attest::spec::attention::generalized::Phi;
using attest::spec::attention::generalized::Sim;
using attest::spec::attention::generalized::ZeroDenominator;

/// Every form: `similarities(i, keys)` over the keys that query i sees; hidden keys are not touched. Queries are
/// shared among the threads.
template <class T, class F>
void each_query(const In<T>& in, const Out<T>& out, F&& similarities) {
  const Index n = in.q.extent(0), s = in.k.extent(0);
#pragma omp parallel for schedule(dynamic) if (n * s > 256)
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> keys;
    for (Index j = 0; j < s && (!in.causal || j <= i + (s - n)); ++j)
      if (!in.mask || in.mask(i, j)) keys.push_back(j);
    auto o = vector(out.o[i]);
    const Column<T> w = keys.empty() ? Column<T>() : Column<T>(similarities(i, keys));
    const T z = w.sum();
    if (z == 0)
      o.setConstant(in.zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0));  // C5
    else
      o = matrix(in.v)(keys, Eigen::all).transpose() * w / z;
  }
}

/// e^(l - max l)
template <class T>
Column<T> exponentials(const Column<T>& l) {
  return (l.array() - l.maxCoeff()).exp();
}

template <class T>
RowMajor<T> rows(View<const T, 2> x, const std::vector<Index>& some) {
  return matrix(x)(some, Eigen::all);
}

/// phi of every element; below 0 the small features are e^x itself.
template <class X>
X features(Phi map, const X& x) {
  using T = typename X::Scalar;
  return x.unaryExpr([&](T t) {
    return map == Phi::relu ? std::max(t, T(0)) : map == Phi::exp || t <= 0 ? std::exp(t) : t + 1;
  });
}

template <class T>
void stable(const In<T>& in, const Out<T>& out) {
  const T gamma = static_cast<T>(in.gamma), offset = static_cast<T>(in.offset);
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(1)));
  each_query(in, out, [&](Index i, const std::vector<Index>& keys) -> Column<T> {
    const Column<T> q = vector(in.q[i]);
    const RowMajor<T> k = rows(in.k, keys);
    if (in.sim == Sim::exp_dot) return exponentials<T>(scale * (k * q));
    if (in.sim == Sim::rbf) return exponentials<T>(-gamma * (k.rowwise() - q.transpose()).rowwise().squaredNorm());
    if (in.sim == Sim::feature_dot) return features(in.varphi, k) * features(in.phi, q);
    const Column<T> x = (k * q).array() + offset;
    Column<T> w = x;
    for (Index t = 1; t < in.power; ++t) w.array() *= x.array();  // C2
    return w;
  });
}

/// No distances are computed: a softmax kernel with a bias per key.
template <class T>
void rbf_as_softmax(const In<T>& in, const Out<T>& out) {
  const T gamma = static_cast<T>(in.gamma);
  each_query(in, out, [&](Index i, const std::vector<Index>& keys) -> Column<T> {
    const RowMajor<T> k = rows(in.k, keys);
    return exponentials<T>(gamma * (2 * (k * vector(in.q[i])) - k.rowwise().squaredNorm()));
  });
}

template void stable(const In<float>&, const Out<float>&);
template void stable(const In<double>&, const Out<double>&);
template void rbf_as_softmax(const In<float>&, const Out<float>&);
template void rbf_as_softmax(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::generalized
