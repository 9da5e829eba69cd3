// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/engine/attend.hpp"

namespace attest::openmp::engine {

/// Partial sums of some queries over some keys: maximum and sum per query, and sum_j w_j v_j with a row per channel.
/// They lie side by side at `data`, for `stride` queries.
template <class T>
struct Partial {
  T* data;
  Index stride, channels;

  T* maximum() const { return data; }
  T* sum() const { return data + stride; }
  T* output() const { return data + 2 * stride; }
  static Index size(Index stride, Index channels) { return (2 + channels) * stride; }
};

/// What a target compiles: serial, on `scratch` of `scratch_size(...)` elements, aligned in whole vectors. Queries are
/// `first` .. `first + count - 1`, at most `queries` of them.
template <class T>
struct Leaves {
  Index lanes, queries;
  Index (*scratch_size)(const Problem<T>&, Schedule, Index tile);
  /// All of one tile of queries.
  void (*forward)(const Problem<T>&, const Forward<T>&, Index first, Index count, Index tile, T* scratch);
  /// Their partial sums over keys from .. to - 1.
  void (*shard)(const Problem<T>&, const Forward<T>&, Index first, Index count, Index tile, Index from, Index to,
                T* scratch, Partial<T>);
  void (*merge)(Partial<T> into, Partial<T> other);
  void (*finish)(const Problem<T>&, const Forward<T>&, Index first, Index count, Partial<T>);
  Index (*backward_scratch_size)(const Problem<T>&, Gradient, Index tile);
  /// grad_q and grad_bias of one tile of queries; what it adds to grad_k and grad_v goes to rows of whole vectors.
  void (*backward)(const Problem<T>&, const Backward<T>&, Index first, Index count, Index tile, T* scratch, T* grad_k,
                   T* grad_v);
};

}  // namespace attest::openmp::engine
