// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/linear/feature_map.hpp"

namespace attest::reference::linear::feature_map {

using In = attest::spec::linear::feature_map::In<Number>;
using Out = attest::spec::linear::feature_map::Out<Number>;
using attest::spec::linear::feature_map::Kind;

template <class F>
void each_element(const In& in, const Out& out, F&& phi) {
  const auto [n, d] = in.x.extents();
  for (const Index i : wanted(out.phi))
    for (Index c = 0; c < d; ++c) out.phi(i, c) = phi(in.x(i, c));
}

/// phi(x) = elu(x) + 1: x + 1 for x > 0, e^x for x <= 0      [Katharopoulos et al. 2020, eq. 7]
inline void branch(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& x) {
    if (in.kind == Kind::identity) return x;
    if (in.kind == Kind::exp) return exp(x);
    if (in.kind == Kind::relu) return positive(x) ? x : Number(0);
    return positive(x) ? x + 1 : exp(x);
  });
}

/// phi(x) = max(x, 0) + e^min(x, 0); the other maps from the same two parts.
inline void max_min(const In& in, const Out& out) {
  each_element(in, out, [&](const Number& x) {
    const bool above = positive(x);
    const Number most = above ? x : Number(0), least = above ? Number(0) : x;
    if (in.kind == Kind::identity) return most + least;
    if (in.kind == Kind::exp) return exp(most) * exp(least);
    if (in.kind == Kind::relu) return most;
    return most + exp(least);
  });
}

}  // namespace attest::reference::linear::feature_map
