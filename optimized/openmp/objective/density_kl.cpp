// SPDX-License-Identifier: MIT
#include "attest/spec/objective/density_kl.hpp"

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::objective::density_kl {

using attest::spec::objective::density_kl::In;
using attest::spec::objective::density_kl::Out;

/// v / sigma_0^2, the square in double precision.
template <class T>
auto ratio(const In<T>& in) {
  return (vector(in.variance).array() * static_cast<T>(1 / (in.sigma_0 * in.sigma_0))).eval();
}

template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  const auto rho = ratio(in);
  out.divergence() = ((rho - rho.log() - 1) / 2).sum();
}

template <class T>
void log1p(const In<T>& in, const Out<T>& out) {
  const auto x = (ratio(in) - 1).eval();
  out.divergence() = ((x - x.log1p()) / 2).sum();
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);
template void log1p(const In<float>&, const Out<float>&);
template void log1p(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::density_kl
