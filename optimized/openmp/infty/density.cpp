// SPDX-License-Identifier: MIT
#include "attest/spec/infty/density.hpp"

#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::density {

using attest::spec::infty::density::In;
using attest::spec::infty::density::Out;

/// mu and sigma2 of some queries at a time, from `logits(u, w, v)`: the scores, a row per query, with weights over
/// functions and over tokens.
template <class T, class F>
void each_query(const In<T>& in, const Out<T>& out, F&& logits) {
  const T kappa = static_cast<T>(in.kappa), least = static_cast<T>(in.min_sigma2);
  each_tile(in.q.extent(0), [&](Index first, Index count) {
    const RowMajor<T> u = kappa * (matrix(in.q.rows(first, count)) * matrix(in.k_b).transpose());
    const Column<T> mean = logits(u, in.w_mu, in.v_mu), variance = logits(u, in.w_sigma, in.v_sigma);
    const T b_mu = in.b_mu ? in.b_mu() : T(0), b_sigma = in.b_sigma ? in.b_sigma() : T(0);
    for (Index i = 0; i < count; ++i) {
      out.mu(first + i) = sigmoid(mean(i) + b_mu);
      out.sigma2(first + i) = std::max(least, softplus(variance(i) + b_sigma));
    }
  });
}

template <class T>
void basis_space(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [&](const RowMajor<T>& u, View<const T, 1> w, View<const T, 1> v) -> Column<T> {
    if (v.extent(0) == 0) return u * vector(w);
    return u * (vector(w) + matrix(in.psi) * vector(v));
  });
}

template <class T>
void token_space(const In<T>& in, const Out<T>& out) {
  each_query(in, out, [&](const RowMajor<T>& u, View<const T, 1> w, View<const T, 1> v) -> Column<T> {
    Column<T> x = u * vector(w);
    if (v.extent(0) > 0) x += (u * matrix(in.psi)) * vector(v);
    return x;
  });
}

template void basis_space(const In<float>&, const Out<float>&);
template void basis_space(const In<double>&, const Out<double>&);
template void token_space(const In<float>&, const Out<float>&);
template void token_space(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::density
