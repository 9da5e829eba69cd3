// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/recur.hpp"
#include "attest/openmp/features.hpp"
#include "attest/openmp/sigmoid.hpp"
#include "attest/openmp/tiles.hpp"
#include "attest/spec/infini/memory_retrieve.hpp"

/// Shared by the kernels of the compressive memory.
namespace attest::openmp::infini {

using attest::spec::infini::memory_retrieve::FeatureMap;
using attest::spec::infini::memory_retrieve::ZeroDenominator;

/// Divides each row by its denominator, and follows the convention where that is 0.
template <class T, class Rows, class Denominators>
void divide_rows(Rows&& numerator, const Denominators& denominator, ZeroDenominator zero_denominator) {
  for (Index i = 0; i < numerator.rows(); ++i) {
    if (denominator(i) == 0)
      numerator.row(i).setConstant(zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN()
                                                                            : T(0));
    else
      numerator.row(i) /= denominator(i);
  }
}

/// What the engine does with a memory: answers to queries, keys and values that it takes.
template <class T, class I>
engine::Recurrence<T> recurrence_of(const I& in, ZeroDenominator zero_denominator, T eps) {
  engine::Recurrence<T> recurrence{.map = engine::map_of<T>(in.feature_map)};
  recurrence.undefined = zero_denominator == ZeroDenominator::nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
  recurrence.eps = eps;
  recurrence.S = in.memory, recurrence.z = in.z;
  return recurrence;
}

/// memory and z. What is not given is zero.
template <class T>
struct State {
  RowMajor<T> memory;
  Column<T> z;
};

template <class T>
State<T> carried(const View<const T, 2>& memory, const View<const T, 1>& z, Index d, Index m) {
  State<T> state{RowMajor<T>::Zero(d, m), Column<T>::Zero(d)};
  if (memory) state.memory = matrix(memory);
  if (z) state.z = vector(z);
  return state;
}

/// The outputs that are asked for.
template <class T>
void write(const State<T>& state, const View<T, 2>& memory, const View<T, 1>& z) {
  if (memory) matrix(memory) = state.memory;
  if (z) vector(z) = state.z;
}

/// A segment's delta update as a map: memory -> A memory + B.
template <class T>
struct Affine {
  RowMajor<T> A, B;
};

/// A = I - phi^T diag(1 / (phi z + eps)) phi,  B = phi^T v
template <class T, class Phi, class Values>
Affine<T> segment_map(const Phi& phi, const Values& v, const Column<T>& z, T eps, ZeroDenominator zero_denominator) {
  RowMajor<T> weighted = phi;
  const Column<T> denominator = (phi * z).array() + eps;
  divide_rows<T>(weighted, denominator, zero_denominator);
  const Index d = phi.cols();
  Affine<T> map{RowMajor<T>::Identity(d, d), RowMajor<T>(d, v.cols())};
  each_tile(d, [&](Index first, Index count) {
    map.A.middleRows(first, count).noalias() -= phi.middleCols(first, count).transpose() * weighted;
    map.B.middleRows(first, count).noalias() = phi.middleCols(first, count).transpose() * v;
  });
  return map;
}

}  // namespace attest::openmp::infini
