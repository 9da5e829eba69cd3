// SPDX-License-Identifier: MIT
#include "attest/spec/positional/distance_aware.hpp"

#include <cmath>
#include <cstdlib>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"

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

/// Every form: `logit(product, f)`.
template <class T, class F>
void attend(const In<T>& in, const Out<T>& out, F&& logit) {
  const T scale = in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(in.q.extent(1)));
  const Column<T> f = factors(in);
  engine::attend({.q = in.q,
                  .k = in.k,
                  .v = in.v,
                  .edit =
                      [&](const engine::Tile<T>& tile) {
                        tile.each([&](T& x, Index i, Index j) { x = scale * logit(x, f(std::abs(i - j))); });
                      }},
                 {.o = out.o});
  if (out.f)
    for (Index i = 0; i < in.q.extent(0); ++i)
      for (Index j = 0; j < in.k.extent(0); ++j) out.f(i, j) = f(std::abs(i - j));
}

/// The factor on positive products.
template <class T>
void softplus(const In<T>& in, const Out<T>& out) {
  attend(in, out, [](T product, T f) { return (product < 0 ? 0 : product) * f; });
}

/// The factor on all products, then what is positive.
template <class T>
void relu_after(const In<T>& in, const Out<T>& out) {
  attend(in, out, [](T product, T f) { return product * f < 0 ? 0 : product * f; });
}

template void softplus(const In<float>&, const Out<float>&);
template void softplus(const In<double>&, const Out<double>&);
template void relu_after(const In<float>&, const Out<float>&);
template void relu_after(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::distance_aware
