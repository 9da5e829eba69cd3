// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/infini/gate.hpp"

namespace attest::reference::infini::gate {

using In = attest::spec::infini::gate::In<Number>;
using Out = attest::spec::infini::gate::Out<Number>;

/// What the memory and local attention contribute.
inline Number sum_of_shares(Number of_memory, Number of_local) {
  return stage("share of the memory", std::move(of_memory)) + stage("share of the local results", std::move(of_local));
}

/// g x + (1 - g) y, g rounded or not before it is taken from 1
inline Number mixed(const Number& g, const Number& x, const Number& y) {
  const Number factor = operand(g);
  return sum_of_shares(factor * operand(x), times(1 - factor, y));
}

/// sigma(x), the gate or what it leaves.
inline Number gate_of(const Number& x) { return stage("gate", sigmoid(x)); }

template <class F>
void each_element(const In& in, const Out& out, F&& mix) {
  const auto [n, m] = in.a_mem.extents();
  for (const Index i : wanted(out.a))
    for (Index b = 0; b < m; ++b) out.a(i, b) = mix(in.a_mem(i, b), in.a_dot(i, b));
}

/// a = sigma(beta) a_mem + (1 - sigma(beta)) a_dot      [Munkhdalai et al. 2024, eq. 6]
inline void convex(const In& in, const Out& out) {
  const Number g = gate_of(in.beta());
  each_element(in, out, [&](const Number& mem, const Number& local) { return mixed(g, mem, local); });
}

/// 1 - sigma(beta) = sigma(-beta), without the cancellation.
inline void complement(const In& in, const Out& out) {
  const Number g = gate_of(in.beta()), rest = gate_of(-in.beta());
  each_element(in, out, [&](const Number& mem, const Number& local) {
    return sum_of_shares(times(g, mem), times(rest, local));
  });
}

/// a = a_dot + sigma(beta) (a_mem - a_dot)
inline void lerp(const In& in, const Out& out) {
  const Number g = gate_of(in.beta());
  each_element(in, out, [&](const Number& mem, const Number& local) {
    return local + times(g, stage("differences", mem - local));
  });
}

}  // namespace attest::reference::infini::gate
