// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/engine/recur.hpp"

namespace attest::openmp::engine {

/// Where S and z lie: a row of `width` elements per feature, whole vectors, then z.
template <class T>
struct State {
  T* S;
  Index features, width, z_size;

  T* z() const { return S + features * width; }
  Index size() const { return features * width + z_size; }
};

enum class See { nothing, keys, past };

/// What a target compiles: serial, on `scratch` of `scratch_size(...)` elements, aligned in whole vectors. A tile has
/// at most `tile` tokens.
template <class T>
struct RecurLeaves {
  Index lanes;
  Index (*scratch_size)(const Recurrence<T>&, Index tile);
  /// Tile after tile of tokens first .. first + count - 1: answers, if there are queries and `answer`; the state takes
  /// them, the last tile only if `store`.
  void (*walk)(const Recurrence<T>&, Index first, Index count, Index tile, bool answer, bool store, State<T>,
               T* scratch);
  /// Queries first .. first + count - 1, one tile: what the state answers, and what the keys do, all of them or those
  /// of the past.
  void (*answer)(const Recurrence<T>&, Index first, Index count, Index tile, See, State<T>, T* scratch);
  /// Elements of memory of `scan`, which answers columns column .. column + lanes - 1 of v by prefix sums over all
  /// tokens and leaves S after the last; with column 0 z_after is written.
  Index (*scan_size)(const Recurrence<T>&);
  void (*scan)(const Recurrence<T>&, Index column, State<T>, T* memory);
  /// One token for columns first .. first + count - 1 of values; z with column 0.
  Index (*step_size)(const Recurrence<T>&);
  void (*step)(const Recurrence<T>&, bool read_first, Index first, Index count, T* scratch);
  /// Row i of `o` becomes that of grad_o over denominator i, the denominator minus their product over itself; zeros
  /// where it is 0.
  void (*cotangents)(View<const T, 2> grad_o, View<T, 2> o, View<T, 1> denominators);
  /// y_i += e_i sum_{j <= i} x_j, or sum_{j <= i} e_j x_j, with `sum` for a row of x.
  void (*share)(View<const T, 1> e, View<const T, 2> x, View<T, 2> y, bool weighted, T* sum);
};

}  // namespace attest::openmp::engine
