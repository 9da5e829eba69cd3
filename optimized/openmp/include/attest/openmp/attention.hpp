// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

#include "attest/openmp/engine/attend.hpp"

namespace attest::openmp::attention {

template <class T, class I>
T scale_of(const I& in) {
  return in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(in.q.extent(1)));
}

/// What a contract says of logits and visibility. Causal order and window count from the bottom right.
template <class T, class I>
engine::Problem<T> problem_of(const I& in) {
  engine::Problem<T> problem{.q = in.q, .k = in.k, .v = in.v, .scale = scale_of<T>(in)};
  problem.shift = in.k.extent(0) - in.q.extent(0);
  if constexpr (requires { in.softcap; }) problem.softcap = static_cast<T>(in.softcap);
  if constexpr (requires { in.bias; }) problem.bias = in.bias;
  if constexpr (requires { in.mask; }) problem.mask = in.mask;
  if constexpr (requires { in.window_left; }) {
    if (in.window_left >= 0) problem.left = in.window_left;
    if (in.window_right >= 0) problem.right = in.window_right;
  }
  if constexpr (requires { in.causal; }) {
    if (in.causal) problem.right = 0;
  }
  return problem;
}

/// Two results over different keys as one: each has its share of e^lse. The first one is not empty.
template <class T>
void merge(View<T, 2> o, View<const T, 1> lse, View<const T, 2> other, View<const T, 1> other_lse) {
  for (Index i = 0; i < o.extent(0); ++i) {
    const T m = std::max(lse(i), other_lse(i)), a = std::exp(lse(i) - m), b = std::exp(other_lse(i) - m);
    for (Index c = 0; c < o.extent(1); ++c) o(i, c) = (a * o(i, c) + b * other(i, c)) / (a + b);
  }
}

}  // namespace attest::openmp::attention
