// SPDX-License-Identifier: MIT
#include "attest/spec/content/lsh_hash.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::content::lsh_hash {

using attest::spec::content::lsh_hash::In;
using attest::spec::content::lsh_hash::Out;

/// h_i = bucket(row i of x r), tile by tile.
template <class T, class F>
void each_token(const In<T>& in, const Out<T>& out, F&& bucket) {
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    const RowMajor<T> y = matrix(in.x.rows(first, count)) * matrix(in.r);
    for (Index i = 0; i < count; ++i) out.h(first + i) = static_cast<T>(bucket(y.row(i)));
  });
}

template <class T>
void concat(const In<T>& in, const Out<T>& out) {
  each_token(in, out, [](const auto& y) {
    Column<T> both(2 * y.cols());
    both << y.transpose(), -y.transpose();
    Index h = 0;
    both.maxCoeff(&h);
    return h;
  });
}

template <class T>
void max_abs(const In<T>& in, const Out<T>& out) {
  each_token(in, out, [](const auto& y) {
    Index t = 0;
    y.cwiseAbs().maxCoeff(&t);
    return y(t) < 0 ? t + y.cols() : t;
  });
}

template void concat(const In<float>&, const Out<float>&);
template void concat(const In<double>&, const Out<double>&);
template void max_abs(const In<float>&, const Out<float>&);
template void max_abs(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::lsh_hash
