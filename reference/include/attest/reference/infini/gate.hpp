// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/infini/gate.hpp"

namespace attest::reference::infini::gate {

using attest::spec::infini::gate::In;
using attest::spec::infini::gate::Out;

/// g x + (1 - g) y
template <class T>
T mixed(const T& g, const T& x, const T& y) {
  return g * x + (T(1) - g) * y;
}

template <class T, class F>
void each_element(const In<T>& in, const Out<T>& out, F&& mix) {
  const auto [n, m] = in.a_mem.extents();
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b < m; ++b) out.a(i, b) = mix(in.a_mem(i, b), in.a_dot(i, b));
}

/// a = sigma(beta) a_mem + (1 - sigma(beta)) a_dot      [Munkhdalai et al. 2024, eq. 6]
template <class T>
void convex(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta());
  each_element(in, out, [&](const T& mem, const T& local) { return mixed(g, mem, local); });
}

/// 1 - sigma(beta) = sigma(-beta), without the cancellation.
template <class T>
void complement(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta()), rest = sigmoid(T(-in.beta()));
  each_element(in, out, [&](const T& mem, const T& local) { return T(g * mem + rest * local); });
}

/// a = a_dot + sigma(beta) (a_mem - a_dot)
template <class T>
void lerp(const In<T>& in, const Out<T>& out) {
  const T g = sigmoid(in.beta());
  each_element(in, out, [&](const T& mem, const T& local) { return T(local + g * (mem - local)); });
}

}  // namespace attest::reference::infini::gate
