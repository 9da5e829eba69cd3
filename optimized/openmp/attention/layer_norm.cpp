// SPDX-License-Identifier: MIT
#include "attest/spec/attention/layer_norm.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention::layer_norm {

using attest::spec::attention::layer_norm::In;
using attest::spec::attention::layer_norm::Out;

template <class T>
struct Moments {
  T mean, variance;
};

/// Every form: the moments of a row, then one affine map per feature. Rows are shared among the threads.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& moments) {
  const Index n = in.x.extent(0), d = in.x.extent(1);
  const T eps = static_cast<T>(in.eps);
#pragma omp parallel for schedule(static) if (n * d > 4096)
  for (Index i = 0; i < n; ++i) {
    const Column<T> x = vector(in.x[i]);
    const Moments<T> row = moments(x);
    auto y = vector(out.y[i]);
    y = (x.array() - row.mean) / std::sqrt(row.variance + eps);
    if (in.gamma) y.array() *= vector(in.gamma).array();
    if (in.beta) y += vector(in.beta);
  }
}

template <class T>
void two_pass(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Column<T>& x) {
    const T mean = x.mean();
    return Moments<T>{mean, (x.array() - mean).square().mean()};
  });
}

/// One pass over a row that may never be in memory as a whole.
template <class T>
void welford(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const Column<T>& x) {
    T mean = 0, squares = 0;
    for (Index a = 0; a < x.size(); ++a) {
      const T off = x(a) - mean;
      mean += off / static_cast<T>(a + 1);
      squares += off * (x(a) - mean);
    }
    return Moments<T>{mean, squares / static_cast<T>(x.size())};
  });
}

template void two_pass(const In<float>&, const Out<float>&);
template void two_pass(const In<double>&, const Out<double>&);
template void welford(const In<float>&, const Out<float>&);
template void welford(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::layer_norm
