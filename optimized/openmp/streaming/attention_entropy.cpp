// SPDX-License-Identifier: MIT
#include "attest/spec/streaming/attention_entropy.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::streaming::attention_entropy {

using attest::spec::streaming::attention_entropy::In;
using attest::spec::streaming::attention_entropy::Out;

/// Every form: `entropy(below)` of the visible logits of a row, each as its distance to the largest. Rows are
/// independent, so they are shared among the threads.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& entropy) {
  const Index rows = in.x.extent(0), s = in.x.extent(1);
#pragma omp parallel for schedule(static) if (rows * s > 4096)
  for (Index r = 0; r < rows; ++r) {
    Column<T> x(s);
    Index count = 0;
    for (Index j = 0; j < s; ++j)
      if (!in.mask || in.mask(r, j)) x(count++) = in.x(r, j);
    if (count == 0) {  // C1
      out.h(r) = 0;
      continue;
    }
    const T m = x.head(count).maxCoeff();
    const Column<T> below = m - x.head(count).array();
    out.h(r) = entropy(below);
  }
}

/// Weights that vanish have no logarithm and no share.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Column<T>& below) {
    Column<T> a = (-below.array()).exp();
    a /= a.sum();
    T h = 0;
    for (const T w : a) h -= w > 0 ? w * std::log(w) : 0;
    return h;
  });
}

/// ln z + sum_j a_j (m - x_j): no weight needs a logarithm.
template <class T>
void shifted(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Column<T>& below) {
    const Column<T> e = (-below.array()).exp();
    const T z = e.sum();
    return std::log(z) + e.dot(below) / z;
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void shifted(const In<float>&, const Out<float>&);
template void shifted(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::streaming::attention_entropy
