// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/gate.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::gate {

namespace right = attest::reference::infini::gate;
using right::In;
using right::Out;

/// g a_mem + rest a_dot
template <class T>
void mix(const In<T>& in, const Out<T>& out, const T& g, const T& rest) {
  right::each_element(in, out, [&](const T& mem, const T& local) { return T(g * mem + rest * local); });
}

template <class T>
void gate_swapped(const In<T>& in, const Out<T>& out) { mix(in, out, sigmoid(T(-in.beta())), sigmoid(T(in.beta()))); }

template <class T>
void sigmoid_missing(const In<T>& in, const Out<T>& out) { mix(in, out, T(in.beta()), T(T(1) - in.beta())); }

template <class T>
void sum_without_complement(const In<T>& in, const Out<T>& out) { mix(in, out, sigmoid(T(in.beta())), T(1)); }

template <class T>
void plain_sum(const In<T>& in, const Out<T>& out) { mix(in, out, T(1), T(1)); }

template <class T>
void tanh_gate(const In<T>& in, const Out<T>& out) {
  const T g = T(2) * sigmoid(T(T(2) * in.beta())) - T(1);
  mix(in, out, g, T(T(1) - g));
}

template <class T>
void beta_ignored(const In<T>& in, const Out<T>& out) { mix(in, out, T(0.5), T(0.5)); }

template <class T>
void per_dimension_gate_misbroadcast(const In<T>& in, const Out<T>& out) {
  right::complement(in, out);
  for (Index i = 0; i < in.a_mem.extent(0); ++i)
    for (Index b = 1; b < in.a_mem.extent(1); ++b) out.a(i, b) = T(0.5) * in.a_mem(i, b) + T(0.5) * in.a_dot(i, b);
}

template <class T>
void concat(const In<T>& in, const Out<T>& out) {  // rows [a_mem | a_dot] of 2 m numbers, as many as fit
  const auto [n, m] = in.a_mem.extents();
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b < m; ++b) {
      const Index t = i * m + b, row = t / (2 * m), column = t % (2 * m);
      out.a(i, b) = column < m ? in.a_mem(row, column) : in.a_dot(row, column - m);
    }
}

template <class T>
void exp_of_beta(const In<T>& in, const Out<T>& out) {
  const T e = exp(in.beta()), g = e / (T(1) + e);
  mix(in, out, g, T(T(1) - g));
}

template <class T>
void gate_drift(const In<T>& in, const Out<T>& out, const T& c) {
  const T beta = in.beta() * (T(1) + c);
  mix(in, out, sigmoid(beta), sigmoid(T(-beta)));
}

}  // namespace attest::faults::infini::gate
