// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::confidence {

using attest::spec::adaptive::confidence::In;
using attest::spec::adaptive::confidence::Kind;
using attest::spec::adaptive::confidence::Out;

/// The two largest entries; the second is -infinity for a single one.
template <class T, class Row>
std::pair<T, T> two_largest(const Row& x) {
  T first = -std::numeric_limits<T>::infinity(), second = first;
  for (Index t = 0; t < x.size(); ++t) {
    if (x(t) > first)
      second = std::exchange(first, x(t));
    else
      second = std::max<T>(second, x(t));
  }
  return {first, second};
}

/// c_r = response(logits of the row), or the cosine, which is 0 / 0 for a state of zeros (C1).
template <class T, class F>
void each_row(const In<T>& in, const Out<T>& out, F&& response) {
  each_tile(out.c.extent(0), [&](Index first, Index count) {
    for (Index r = first; r < first + count; ++r) {
      if (in.kind == Kind::saturation) {
        const auto u = vector(in.before[r]), v = vector(in.after[r]);
        out.c(r) = u.dot(v) / (u.norm() * v.norm());
      } else {
        out.c(r) = in.logits.extent(1) == 1 ? T(1) : response(vector(in.logits[r]));
      }
    }
  });
}

template <class T>
void sort(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const auto& l) {
    Column<T> p = (l.array() - l.maxCoeff()).exp();
    p /= p.sum();
    std::partial_sort(p.begin(), p.begin() + 2, p.end(), std::greater<T>());
    return p(0) - p(1);
  });
}

/// The largest exponential is 1.
template <class T>
void top2(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const auto& l) {
    const auto [first, second] = two_largest<T>(l);
    return -std::expm1(second - first) / (l.array() - first).exp().sum();
  });
}

template <class T>
void log_domain(const In<T>& in, const Out<T>& out) {
  each_row(in, out, [](const auto& l) {
    const auto [first, second] = two_largest<T>(l);
    const T lse = first + std::log((l.array() - first).exp().sum());
    return std::exp(first - lse) - std::exp(second - lse);
  });
}

template void sort(const In<float>&, const Out<float>&);
template void sort(const In<double>&, const Out<double>&);
template void top2(const In<float>&, const Out<float>&);
template void top2(const In<double>&, const Out<double>&);
template void log_domain(const In<float>&, const Out<float>&);
template void log_domain(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::confidence
