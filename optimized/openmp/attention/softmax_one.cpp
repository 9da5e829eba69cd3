// SPDX-License-Identifier: MIT
#include "attest/spec/attention/softmax_one.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention::softmax_one {

using attest::spec::attention::softmax_one::In;
using attest::spec::attention::softmax_one::Out;

/// Every form: the visible logits of a row, side by side, become weights in place. Rows are shared among the threads.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& weights) {
  const Index rows = in.x.extent(0), s = in.x.extent(1);
#pragma omp parallel for schedule(static) if (rows * s > 4096)
  for (Index r = 0; r < rows; ++r) {
    std::vector<Index> keys;
    for (Index j = 0; j < s; ++j)
      if (!in.mask || in.mask(r, j)) keys.push_back(j);
    vector(out.a[r]).setZero();
    if (keys.empty()) continue;
    Column<T> a = vector(in.x[r])(keys);
    weights(a);
    for (std::size_t t = 0; t < keys.size(); ++t) out.a(r, keys[t]) = a(static_cast<Index>(t));
  }
}

/// No term exceeds 1: neither an exponential nor the 1 after the shift.
template <class T>
void stable(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const T m = std::max(T(0), x.maxCoeff());
    x = (x.array() - m).exp();
    x /= std::exp(-m) + x.sum();
  });
}

/// An ordinary softmax kernel on a row that is one entry longer.
template <class T>
void virtual_token(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const Index n = x.size();
    Column<T> longer(n + 1);
    longer << x, T(0);
    longer = (longer.array() - longer.maxCoeff()).exp();
    x = longer.head(n) / longer.sum();
  });
}

/// A softmax kernel that gives its log-sum-exp needs one factor per row.
template <class T>
void sigmoid_gate(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const T m = x.maxCoeff();
    x = (x.array() - m).exp();
    const T l = x.sum(), lse = m + std::log(l), e = std::exp(-std::abs(lse));
    x *= (lse < 0 ? e : T(1)) / (1 + e) / l;
  });
}

template void stable(const In<float>&, const Out<float>&);
template void stable(const In<double>&, const Out<double>&);
template void virtual_token(const In<float>&, const Out<float>&);
template void virtual_token(const In<double>&, const Out<double>&);
template void sigmoid_gate(const In<float>&, const Out<float>&);
template void sigmoid_gate(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::softmax_one
