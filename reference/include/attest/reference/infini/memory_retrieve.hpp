// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/feature_map.hpp"
#include "attest/spec/infini/memory_retrieve.hpp"

namespace attest::reference::infini::memory_retrieve {

using In = attest::spec::infini::memory_retrieve::In<Number>;
using Out = attest::spec::infini::memory_retrieve::Out<Number>;
using attest::spec::infini::memory_retrieve::FeatureMap;
using attest::spec::infini::memory_retrieve::ZeroDenominator;
using linear::feature_map::feature;
using linear::feature_map::features;

/// numerator / denominator, and the convention where the denominator is 0 (C1).
inline Number ratio(const Number& numerator, const Number& denominator, ZeroDenominator zero_denominator) {
  if (is_zero(denominator)) return zero_denominator == ZeroDenominator::nan ? not_a_number() : Number(0);
  return numerator / denominator;
}

/// phi^T z + eps
template <class Z>
Number denominator(Row phi, const Z& z, double eps) {
  const Number total = dot(phi, z);
  return eps == 0 ? total : total + parameter(eps);
}

/// phi^T memory / (phi^T z + eps)
template <class M, class Z>
Vector read(Row phi, const M& memory, const Z& z, double eps, ZeroDenominator zero_denominator) {
  const Number below = stage("denominator", denominator(phi, z, eps));
  return tabulate(memory.extent(1), [&](Index b) {
    return ratio(stage("accumulator", dot(phi, memory.column(b))), below, zero_denominator);
  });
}

/// a_i = phi(q_i)^T memory / (phi(q_i)^T z)      [Munkhdalai et al. 2024, eq. 3]
inline void rows(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.q);
  for (const Index i : wanted(out.a)) {
    const auto a = read(phi[i], in.memory, in.z, in.eps, in.zero_denominator);
    for (Index b = 0; b < a.extent(); ++b) out.a(i, b) = a(b);
  }
}

/// w_i = phi(q_i) [memory | z]; the last column divides the others.
inline void augmented(const In& in, const Out& out) {
  const Index d = in.memory.extent(0), m = in.memory.extent(1);
  Matrix both(d, m + 1);
  for (Index a = 0; a < d; ++a)
    for (Index b = 0; b <= m; ++b) both(a, b) = b < m ? in.memory(a, b) : in.z(a);
  const auto phi = features(in.feature_map, in.q);
  for (const Index i : wanted(out.a)) {
    const auto w = product(phi[i], both);
    const Number below = stage("denominator", in.eps == 0 ? w(m) : w(m) + parameter(in.eps));
    for (Index b = 0; b < m; ++b) out.a(i, b) = ratio(stage("accumulator", w(b)), below, in.zero_denominator);
  }
}

}  // namespace attest::reference::infini::memory_retrieve
