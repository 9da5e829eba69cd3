// SPDX-License-Identifier: MIT
#include "attest/spec/infty/attention.hpp"

#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::attention {

using attest::spec::infty::attention::Domain;
using attest::spec::infty::attention::In;
using attest::spec::infty::attention::Out;

/// answer(r, first, count): what some queries get, from the expectations of the basis functions, a row per query.
template <class T, class F>
void each_query(const In<T>& in, F&& answer) {
  const T kappa = static_cast<T>(in.kappa), least = static_cast<T>(in.min_sigma2);
  const RowMajor<T> keys = matrix(in.coefficients).transpose() * matrix(in.w_k);
  const T b_mu = in.b_mu ? in.b_mu() : T(0), b_sigma = in.b_sigma ? in.b_sigma() : T(0);
  const auto functions = [&](Index k) { return BasisFunction<T>{in.c(k), in.s(k)}; };
  each_tile(in.q.extent(0), [&](Index first, Index count) {
    RowMajor<T> r = kappa * (matrix(in.q.rows(first, count)) * keys.transpose());  // scores, then expectations
    const Column<T> mean = r * vector(in.w_mu), variance = r * vector(in.w_sigma);
    for (Index i = 0; i < count; ++i)
      expectations<T>(sigmoid(mean(i) + b_mu), std::max(least, softplus(variance(i) + b_sigma)), functions,
                      in.domain == Domain::unit_interval, in.normalised, view(r)[i]);
    answer(r, first, count);
  });
}

template <class T>
void basis(const In<T>& in, const Out<T>& out) {
  each_query(in, [&](const RowMajor<T>& r, Index first, Index count) {
    const RowMajor<T> signal = r * matrix(in.coefficients).transpose();
    matrix(out.z.rows(first, count)) = signal * matrix(in.w_v);
  });
}

template <class T>
void fused(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> values = matrix(in.coefficients).transpose() * matrix(in.w_v);
  each_query(in,
             [&](const RowMajor<T>& r, Index first, Index count) { matrix(out.z.rows(first, count)) = r * values; });
}

template void basis(const In<float>&, const Out<float>&);
template void basis(const In<double>&, const Out<double>&);
template void fused(const In<float>&, const Out<float>&);
template void fused(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::attention
