// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/softmax.hpp"
#include "attest/spec/streaming/attention_entropy.hpp"

namespace attest::reference::streaming::attention_entropy {

using In = attest::spec::streaming::attention_entropy::In<Number>;
using Out = attest::spec::streaming::attention_entropy::Out<Number>;
using attention::softmax::Exponentials;

/// S_r, in ascending order.
inline std::vector<Index> visible(const In& in, Index r) {
  attention::softmax::In row;
  row.x = in.x, row.mask = in.mask;
  return attention::softmax::visible(row, r);
}

/// H_r = entropy(the visible logits of the row); 0 where nothing is visible (C1).
template <class F>
void each_row(const In& in, const Out& out, F&& entropy) {
  for (const Index r : wanted(out.h)) {
    const auto keys = visible(in, r);
    const auto x =
        tabulate(static_cast<Index>(keys.size()), [&](Index t) { return in.x(r, keys[static_cast<std::size_t>(t)]); });
    out.h(r) = keys.empty() ? Number(0) : entropy(x);
  }
}

/// -sum_j a_j ln a_j of those weights, 0 ln 0 being 0
inline Number of_weights(const Vector& a) {
  const auto logarithms =
      stage("logarithms", tabulate(a.extent(), [&](Index t) { return is_zero(a(t)) ? Number(0) : log(a(t)); }));
  return -dot(a, logarithms);
}

/// H_r = -sum_{j in S_r} a_rj ln a_rj
inline void direct(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) { return of_weights(stage("weights", Exponentials(x).weights())); });
}

/// lse_r - sum_j a_rj x_rj
inline void lse(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const Exponentials of(x);
    return of.log_sum() - dot(stage("weights", of.weights()), x);
  });
}

/// ln z + sum_j a_rj (m - x_rj), z = sum_j e^(x_rj - m) and m the visible maximum: no term is negative.
inline void shifted(const In& in, const Out& out) {
  each_row(in, out, [](const Vector& x) {
    const Exponentials of(x);
    const auto below = stage("distances to the maximum", tabulate(x.extent(), [&](Index t) { return of.m - x(t); }));
    return dot(stage("weights", of.weights()), below, log(of.z));
  });
}

}  // namespace attest::reference::streaming::attention_entropy
