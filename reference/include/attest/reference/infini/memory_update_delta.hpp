// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_update_linear.hpp"
#include "attest/spec/infini/memory_update_delta.hpp"

namespace attest::reference::infini::memory_update_delta {

using In = attest::spec::infini::memory_update_delta::In<Number>;
using Out = attest::spec::infini::memory_update_delta::Out<Number>;
using attest::spec::infini::memory_update_delta::ZeroDenominator;
using memory_retrieve::features;
using memory_update_linear::carried;
using memory_update_linear::State;

/// v_t - r_t: what the old state does not already answer to the key.      (C1 through `read`)
inline Matrix news(View<const Number, 2> phi, View<const Number, 2> v, const State& old, double eps,
                   ZeroDenominator zero_denominator) {
  Matrix u(v.extent(0), v.extent(1));
  for (Index t = 0; t < v.extent(0); ++t) {
    const auto r = stage("retrieved", memory_retrieve::read(phi[t], old.memory, old.z, eps, zero_denominator));
    for (Index b = 0; b < v.extent(1); ++b) u(t, b) = stage("corrections", v(t, b) - r(b));
  }
  return u;
}

/// memory' = memory + phi(k)^T (v - r),  r_t = phi(k_t)^T memory / (phi(k_t)^T z),  z' = z + sum_t phi(k_t)
/// [Munkhdalai et al. 2024, eq. 5]
inline void matrix(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.k);
  auto state = carried(in);
  const auto u = news(phi.view(), in.v, state, in.eps, in.zero_denominator);
  state.add(phi.view(), u.view());
  state.write(out);
}

/// Token after token into the new state, each compared with the old one.
inline void tokens_old_state(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.k);
  const auto old = carried(in);
  auto state = old;
  for (Index t = 0; t < in.k.extent(0); ++t) {
    const auto u = news(phi.view().rows(t, 1), in.v.rows(t, 1), old, in.eps, in.zero_denominator);
    state.add(phi.view().rows(t, 1), u.view());
  }
  state.write(out);
}

/// X Y + Z
inline Matrix multiply_add(const Matrix& X, const Matrix& Y, const Matrix& Z) {
  Matrix result(Z.extent(0), Z.extent(1));
  for (Index a = 0; a < Z.extent(0); ++a)
    for (Index b = 0; b < Z.extent(1); ++b) result(a, b) = dot(X[a], Y.column(b), Z(a, b));
  return result;
}

/// The effect of a segment on the memory before it: memory -> A memory + B.
struct Affine {
  Matrix A, B;

  Matrix operator()(const Matrix& memory) const { return stage("memory", multiply_add(A, memory, B)); }
};

/// `first`, then `second`.
inline Affine composed(const Affine& first, const Affine& second) {
  return {stage("maps of segments", multiply_add(second.A, first.A, Matrix(first.A.extent(0), first.A.extent(1)))),
          stage("maps of segments", multiply_add(second.A, first.B, second.B))};
}

/// A = I - sum_t phi_t phi_t^T / (phi_t^T z),  B = phi^T v
template <class Z>
Affine segment_map(View<const Number, 2> phi, View<const Number, 2> v, const Z& z, double eps,
                   ZeroDenominator zero_denominator) {
  const auto [n, d] = phi.extents();
  Matrix A(d, d), B(d, v.extent(1)), weighted(n, d);
  for (Index t = 0; t < n; ++t) {
    const Number below = stage("denominator", memory_retrieve::denominator(phi[t], z, eps));
    const Number w = stage("reciprocals of denominators", memory_retrieve::ratio(Number(1), below, zero_denominator));
    for (Index a = 0; a < d; ++a) weighted(t, a) = stage("weighted features", w * phi(t, a));
  }
  for (Index a = 0; a < d; ++a) {
    for (Index c = 0; c < d; ++c) A(a, c) = Number(a == c ? 1 : 0) - dot(weighted.column(a), phi.column(c));
    for (Index b = 0; b < v.extent(1); ++b) B(a, b) = dot(phi.column(a), v.column(b));
  }
  return {stage("maps of segments", std::move(A)), stage("maps of segments", std::move(B))};
}

/// memory' = (I - phi^T diag(1 / (phi z)) phi) memory + phi^T v: the piece of which a scan over segments is made.
inline void affine_scan(const In& in, const Out& out) {
  const auto phi = features(in.feature_map, in.k);
  auto state = carried(in);
  const auto map = segment_map(phi.view(), in.v, state.z, in.eps, in.zero_denominator);
  state.memory = map(state.memory);
  state.add_to_z(phi.view());
  state.write(out);
}

}  // namespace attest::reference::infini::memory_update_delta
