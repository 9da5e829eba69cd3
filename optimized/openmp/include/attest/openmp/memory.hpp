// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"

/// Shared by the kernels that attend to a memory and a segment.
namespace attest::openmp::memory {

/// scale ((q + u) . k + (q + v) . distance), the last two terms where there are distances.
template <class T>
struct Score {
  T scale = 1;
  View<const T, 2> distances = {};
  View<const T, 1> u = {}, v = {};
};

/// The last rows of k and v belong to the queries: key j lies i + (rows of k - rows of q) - j places behind query i,
/// which sees it where that is not negative, and the mask shows it. The products with all distances that are met are
/// one matrix.
template <class T>
void attend(const Score<T>& score, View<const T, 2> q, View<const T, 2> k, View<const T, 2> v, View<T, 2> o,
            View<const bool, 2> mask = {}, engine::Forward<T> forward = {}) {
  RowMajor<T> q_u = matrix(q), by_distance;
  if (score.u) q_u.rowwise() += vector(score.u).transpose();
  engine::Problem<T> problem{.q = view(std::as_const(q_u)), .k = k, .v = v, .scale = score.scale, .mask = mask};
  problem.right = 0;
  problem.shift = k.extent(0) - q.extent(0);
  if (score.distances) {
    RowMajor<T> q_v = matrix(q);
    if (score.v) q_v.rowwise() += vector(score.v).transpose();
    by_distance = score.scale * q_v * matrix(score.distances.rows(0, k.extent(0))).transpose();
    problem.edit = [&](const engine::Tile<T>& l) {
      l.each([&](T& logit, Index i, Index j) {
        if (const Index distance = i + problem.shift - j; distance >= 0) logit += by_distance(i, distance);
      });
    };
  }
  forward.o = o;
  engine::attend(problem, forward);
}

}  // namespace attest::openmp::memory
