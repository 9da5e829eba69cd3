// SPDX-License-Identifier: MIT
#include "attest/spec/attention/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::attention::softmax {

using attest::spec::attention::softmax::EmptyRow;
using attest::spec::attention::softmax::In;
using attest::spec::attention::softmax::Out;

/// Every form: the visible logits of a row, side by side, become weights in place; their log-sum-exp comes back. Rows
/// are independent, so they are shared among the threads.
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& weights) {
  const Index rows = in.x.extent(0), s = in.x.extent(1);
#pragma omp parallel for schedule(static) if (rows * s > 4096)
  for (Index r = 0; r < rows; ++r) {
    std::vector<Index> keys;
    Column<T> x(s);
    for (Index j = 0; j < s; ++j) {
      out.a(r, j) = 0;
      if (in.mask && !in.mask(r, j)) continue;
      x(static_cast<Index>(keys.size())) = in.x(r, j);
      keys.push_back(j);
    }
    if (keys.empty()) {  // C1
      for (Index j = 0; j < s; ++j)
        out.a(r, j) = in.empty_row == EmptyRow::nan    ? std::numeric_limits<T>::quiet_NaN()
                      : in.empty_row == EmptyRow::mean ? T(1) / static_cast<T>(s)
                                                       : T(0);
      if (out.lse) out.lse(r) = -std::numeric_limits<T>::infinity();
      continue;
    }
    Column<T> a = x.head(static_cast<Index>(keys.size()));
    const T lse = weights(a);
    for (std::size_t t = 0; t < keys.size(); ++t) out.a(r, keys[t]) = a(static_cast<Index>(t));
    if (out.lse) out.lse(r) = lse;
  }
}

/// The maximum is subtracted first, so that no exponential overflows and the largest is 1.
template <class T>
void max_shift(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const T m = x.maxCoeff();
    x = (x.array() - m).exp();
    const T l = x.sum();
    x /= l;
    return m + std::log(l);
  });
}

/// Weights straight from the log-sum-exp, without a division.
template <class T>
void lse(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const T m = x.maxCoeff();
    const T lse = m + std::log((x.array() - m).exp().sum());
    x = (x.array() - lse).exp();
    return lse;
  });
}

/// One pass for maximum and sum together: the sum is rescaled whenever the maximum rises.
template <class T>
void online(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    T m = x(0), l = 1;
    for (Index t = 1; t < x.size(); ++t) {
      const T next = std::max(m, x(t));
      l = l * std::exp(m - next) + std::exp(x(t) - next);
      m = next;
    }
    x = (x.array() - m).exp() / l;
    return m + std::log(l);
  });
}

/// Two halves on their own, then one from two: how shards of different devices are merged.
template <class T>
void merge(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](Column<T>& x) {
    const Index half = x.size() / 2;
    T m = x.maxCoeff(), l;
    if (half == 0) {
      l = 1;
    } else {
      const T m_a = x.head(half).maxCoeff(), m_b = x.tail(x.size() - half).maxCoeff();
      const T l_a = (x.head(half).array() - m_a).exp().sum(), l_b = (x.tail(x.size() - half).array() - m_b).exp().sum();
      l = l_a * std::exp(m_a - m) + l_b * std::exp(m_b - m);
    }
    x = (x.array() - m).exp() / l;
    return m + std::log(l);
  });
}

template void max_shift(const In<float>&, const Out<float>&);
template void max_shift(const In<double>&, const Out<double>&);
template void lse(const In<float>&, const Out<float>&);
template void lse(const In<double>&, const Out<double>&);
template void online(const In<float>&, const Out<float>&);
template void online(const In<double>&, const Out<double>&);
template void merge(const In<float>&, const Out<float>&);
template void merge(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::attention::softmax
