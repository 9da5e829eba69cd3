// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/fourier_features.hpp"

#include "attest/openmp/lowrank.hpp"

namespace attest::openmp::lowrank::fourier_features {

using attest::spec::lowrank::fourier_features::In;
using attest::spec::lowrank::fourier_features::Out;

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const T sigma = static_cast<T>(in.sigma);
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    RowMajor<T> angles = matrix(in.x.rows(first, count)) * matrix(in.w).transpose();
    angles /= sigma;
    matrix(out.phi.rows(first, count)) = waves<T>(angles);
  });
}
template <class T>
void scaled_input(const In<T>& in, const Out<T>& out) {
  const T sigma = static_cast<T>(in.sigma);
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    const RowMajor<T> x = matrix(in.x.rows(first, count)) / sigma;
    matrix(out.phi.rows(first, count)) = waves<T>(x * matrix(in.w).transpose());
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void scaled_input(const In<float>&, const Out<float>&);
template void scaled_input(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::fourier_features
