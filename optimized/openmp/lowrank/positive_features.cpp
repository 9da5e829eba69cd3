// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/positive_features.hpp"

#include "attest/openmp/lowrank.hpp"

namespace attest::openmp::lowrank::positive_features {

using attest::spec::lowrank::positive_features::In;
using attest::spec::lowrank::positive_features::Out;

/// Exponents of a tile of rows, less `subtracted`, then e^x of all of them times `factor`.
template <class T>
void run(const In<T>& in, const Out<T>& out, T subtracted, T factor) {
  const RowMajor<T> w = matrix(in.w);
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    const RowMajor<T> x = matrix(in.x.rows(first, count));
    RowMajor<T> phi = exponents<T>(x, w, in.hyperbolic);  // C1
    phi.array() -= subtracted;
    engine::map(engine::Feature::exp, phi.data(), phi.size());
    matrix(out.phi.rows(first, count)) = phi * factor;
  });
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  run(in, out, static_cast<T>(in.shift), 1 / std::sqrt(static_cast<T>(out.phi.extent(1))));
}

/// The factor is a part of the exponent.
template <class T>
void log_domain(const In<T>& in, const Out<T>& out) {
  run(in, out, static_cast<T>(in.shift) + std::log(static_cast<T>(out.phi.extent(1))) / 2, T(1));
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void log_domain(const In<float>&, const Out<float>&);
template void log_domain(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::positive_features
