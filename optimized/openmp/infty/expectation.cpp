// SPDX-License-Identifier: MIT
#include "attest/spec/infty/expectation.hpp"

#include "attest/openmp/infty.hpp"

namespace attest::openmp::infty::expectation {

using attest::spec::infty::expectation::Domain;
using attest::spec::infty::expectation::In;
using attest::spec::infty::expectation::Out;

template <class T>
void closed(const In<T>& in, const Out<T>& out) {
  const auto functions = [&](Index k) { return BasisFunction<T>{in.c(k), in.s(k)}; };
  each_tile(in.mu.extent(0), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i)
      expectations<T>(in.mu(i), in.sigma2(i), functions, in.domain == Domain::unit_interval, in.normalised, out.r[i]);
  });
}

template void closed(const In<float>&, const Out<float>&);
template void closed(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infty::expectation
