// SPDX-License-Identifier: MIT
#include "attest/spec/attention/qkv_projection.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::attention::qkv_projection {

using attest::spec::attention::qkv_projection::In;
using attest::spec::attention::qkv_projection::Out;

/// y = x w, a tile of rows at a time.
template <class T, class W>
void multiply(View<const T, 2> x, const W& w, View<T, 2> y) {
  each_tile(x.extent(0),
            [&](Index first, Index count) { matrix(y.rows(first, count)) = matrix(x.rows(first, count)) * w; });
}

template <class T>
void separate(const In<T>& in, const Out<T>& out) {
  multiply(in.x, matrix(in.w_q), out.q);
  multiply(in.x_kv, matrix(in.w_k), out.k);
  multiply(in.x_kv, matrix(in.w_v), out.v);
}

/// Columns first .. first + count - 1 of the fused product.
template <class T>
void split(const RowMajor<T>& y, Index first, View<T, 2> part) {
  matrix(part) = y.middleCols(first, part.extent(1));
}

/// One wide product per set of tokens: a self-attention layer has only one set and needs a single product.
template <class T>
void fused(const In<T>& in, const Out<T>& out) {
  const Index f = in.w_q.extent(0), d = in.w_q.extent(1), m = in.w_v.extent(1);
  RowMajor<T> w(f, 2 * d + m);
  w << matrix(in.w_q), matrix(in.w_k), matrix(in.w_v);
  RowMajor<T> asking(in.x.extent(0), w.cols()), attended(in.x_kv.extent(0), w.cols());
  multiply(in.x, w, View<T, 2>(asking.data(), {asking.rows(), asking.cols()}));
  multiply(in.x_kv, w, View<T, 2>(attended.data(), {attended.rows(), attended.cols()}));
  split(asking, 0, out.q);
  split(attended, d, out.k);
  split(attended, 2 * d, out.v);
}

/// Weights as a linear layer stores them: every output is a product of two rows, both contiguous.
template <class T>
void out_in(const In<T>& in, const Out<T>& out) {
  const auto rows = [](View<const T, 2> x, View<const T, 2> w, View<T, 2> y) {
    const RowMajor<T> stored = matrix(w).transpose();
    each_tile(x.extent(0), [&](Index first, Index count) {
      for (Index i = first; i < first + count; ++i)
        for (Index a = 0; a < stored.rows(); ++a) y(i, a) = vector(x[i]).dot(stored.row(a));
    });
  };
  rows(in.x, in.w_q, out.q);
  rows(in.x_kv, in.w_k, out.k);
  rows(in.x_kv, in.w_v, out.v);
}

template void separate(const In<float>&, const Out<float>&);
template void separate(const In<double>&, const Out<double>&);
template void fused(const In<float>&, const Out<float>&);
template void fused(const In<double>&, const Out<double>&);
template void out_in(const In<float>&, const Out<float>&);
template void out_in(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::qkv_projection
