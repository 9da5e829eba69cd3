// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/linear/feature_map.hpp"

namespace attest::reference::linear::feature_map {

using attest::spec::linear::feature_map::In;
using attest::spec::linear::feature_map::Out;

template <class T, class F>
void each_element(const In<T>& in, const Out<T>& out, F&& phi) {
  const auto [n, d] = in.x.extents();
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < d; ++c) out.phi(i, c) = phi(in.x(i, c));
}

/// phi(x) = elu(x) + 1: x + 1 for x > 0, e^x for x <= 0      [Katharopoulos et al. 2020, eq. 7]
template <class T>
void branch(const In<T>& in, const Out<T>& out) {
  each_element(in, out, [&](const T& x) {
    if (in.kind == "identity") return x;
    if (in.kind == "exp") return T(exp(x));
    if (in.kind == "relu") return positive(x) ? x : T(0);
    return positive(x) ? T(x + T(1)) : T(exp(x));
  });
}

/// phi(x) = max(x, 0) + e^min(x, 0); the other maps from the same two parts.
template <class T>
void max_min(const In<T>& in, const Out<T>& out) {
  each_element(in, out, [&](const T& x) {
    const bool above = positive(x);
    const T most = above ? x : T(0), least = above ? T(0) : x;
    if (in.kind == "identity") return T(most + least);
    if (in.kind == "exp") return T(exp(most) * exp(least));
    if (in.kind == "relu") return most;
    return T(most + exp(least));
  });
}

}  // namespace attest::reference::linear::feature_map
