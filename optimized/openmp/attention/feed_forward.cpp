// SPDX-License-Identifier: MIT
#include "attest/spec/attention/feed_forward.hpp"

#include <algorithm>
#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::attention::feed_forward {

using attest::spec::attention::feed_forward::Activation;
using attest::spec::attention::feed_forward::In;
using attest::spec::attention::feed_forward::Out;

/// act(u), element by element, in place.
template <class T, class U>
void activate(const In<T>& in, U&& u) {
  if (in.activation == Activation::relu) u = u.cwiseMax(T(0));
  if (in.activation == Activation::gelu_tanh)
    u = u.unaryExpr([](T x) {
      return x / (1 + std::exp(static_cast<T>(-1.5957691216057308) * (x + static_cast<T>(0.044715) * x * x * x)));
    });
}

/// Rows first .. first + count - 1 of the output.
template <class T>
void rows(const In<T>& in, const Out<T>& out, Index first, Index count) {
  RowMajor<T> h = matrix(in.x.rows(first, count)) * matrix(in.w_1);
  if (in.b_1) h.rowwise() += vector(in.b_1).transpose();
  activate(in, h);
  auto y = matrix(out.y.rows(first, count));
  y = h * matrix(in.w_2);
  if (in.b_2) y.rowwise() += vector(in.b_2).transpose();
}

template <class T>
void dense(const In<T>& in, const Out<T>& out) {
  each_tile(in.x.extent(0), [&](Index first, Index count) { rows(in, out, first, count); });
}

/// Chunk after chunk: the hidden units of one chunk are all that is ever in memory.
template <class T>
void chunked(const In<T>& in, const Out<T>& out) {
  for (Index first = 0; first < in.x.extent(0); first += in.chunk)
    rows(in, out, first, std::min(in.chunk, in.x.extent(0) - first));  // C1
}

/// Channels first: hidden units are rows of [channels, tokens], made of all tokens at once, and added up by axpy.
template <class T>
void conv1(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0), d = in.x.extent(1), f = in.w_1.extent(1);
  const RowMajor<T> x = matrix(in.x).transpose();
  RowMajor<T> h(f, n), y = RowMajor<T>::Zero(d, n);
  each_tile(f, [&](Index first, Index count) {
    for (Index o = first; o < first + count; ++o) {
      h.row(o).setConstant(in.b_1 ? in.b_1(o) : T(0));
      for (Index c = 0; c < d; ++c) h.row(o) += in.w_1(c, o) * x.row(c);
    }
  });
  activate(in, h);
  each_tile(d, [&](Index first, Index count) {
    for (Index o = first; o < first + count; ++o) {
      for (Index c = 0; c < f; ++c) y.row(o) += in.w_2(c, o) * h.row(c);
      if (in.b_2) y.row(o).array() += in.b_2(o);
    }
  });
  matrix(out.y) = y.transpose();
}

template void dense(const In<float>&, const Out<float>&);
template void dense(const In<double>&, const Out<double>&);
template void conv1(const In<float>&, const Out<float>&);
template void conv1(const In<double>&, const Out<double>&);
template void chunked(const In<float>&, const Out<float>&);
template void chunked(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::feed_forward
