// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/reference/infini/memory_retrieve.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::memory_retrieve {

namespace right = attest::reference::infini::memory_retrieve;
using attest::spec::infini::memory_retrieve::FeatureMap;
using attest::spec::infini::memory_retrieve::ZeroDenominator;
using right::In;
using right::Out;

/// a_ib = answer(phi(q_i), b)
template <class F>
void with_answer(const In& in, const Out& out, F&& answer) {
  const auto phi = right::features(in.feature_map, in.q);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = answer(phi[i], b);
}

/// The equation on other queries.
template <class F>
void with_queries(In in, const Out& out, F&& f) {
  const auto q = matrix_of(in.q.extent(0), in.q.extent(1), f);
  in.q = q.view();
  right::rows(in, out);
}

inline void no_normaliser(const In& in, const Out& out) {
  with_answer(in, out, [&](Row phi, Index b) { return dot(phi, in.memory.column(b)); });
}

inline void elementwise_z(const In& in, const Out& out) {
  with_answer(in, out, [&](Row phi, Index b) {
    return right::ratio(dot(phi, in.memory.column(b)), in.z(b % in.z.extent(0)) + parameter(in.eps),
                        in.zero_denominator);
  });
}

inline void sum_of_z(const In& in, const Out& out) {
  const Number total = sum(in.z.extent(0), [&](Index a) { return in.z(a); }) + parameter(in.eps);
  with_answer(in, out, [&](Row phi, Index b) {
    return right::ratio(dot(phi, in.memory.column(b)), total, in.zero_denominator);
  });
}

inline void map_missing(const In& in, const Out& out) {
  In other = in;
  other.feature_map = FeatureMap::identity;
  right::rows(other, out);
}

inline void relu_map(const In& in, const Out& out) {
  In other = in;
  if (in.feature_map == FeatureMap::elu_plus_one) other.feature_map = FeatureMap::relu;
  right::rows(other, out);
}

inline void softmax_read(const In& in, const Out& out) {
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto w =
        reference::attention::softmax::shifted(tabulate(in.q.extent(1), [&](Index a) { return in.q(i, a); })).first;
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = dot(w, in.memory.column(b));
  }
}

inline void nan_first_segment(const In& in, const Out& out) {
  In other = in;
  other.zero_denominator = ZeroDenominator::nan;
  right::rows(other, out);
}

inline void scaled_queries(const In& in, const Out& out) {
  const Number scale = 1 / sqrt(Number(in.q.extent(1)));
  with_queries(in, out, [&](Index i, Index a) { return scale * in.q(i, a); });
}

inline void eps_added(const In& in, const Out& out) {
  In other = in;
  other.eps = in.eps + 1e-5;
  right::rows(other, out);
}

inline void eps_ignored(const In& in, const Out& out) {
  In other = in;
  other.eps = 0;
  right::rows(other, out);
}

inline void expm1_features(const In& in, const Out& out) {
  if (in.feature_map != FeatureMap::elu_plus_one) return right::rows(in, out);
  const auto phi = matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) {
    const Number x = in.q(i, a);
    return positive(x) ? x + 1 : (exp(x) - Number(1)) + Number(1);
  });
  In other = in;
  other.q = phi.view(), other.feature_map = FeatureMap::identity;
  right::rows(other, out);
}

inline void normaliser_drift(const In& in, const Out& out, const Number& c) {
  right::rows(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i)
    for (Index b = 0; b < in.memory.extent(1); ++b) out.a(i, b) = out.a(i, b) / (Number(1) + c);
}

}  // namespace attest::faults::infini::memory_retrieve
