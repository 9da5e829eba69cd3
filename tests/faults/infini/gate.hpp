// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/gate.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::gate {

namespace right = attest::reference::infini::gate;
using right::In;
using right::Out;

/// g a_mem + rest a_dot
inline void mix(const In& in, const Out& out, const Number& g, const Number& rest) {
  right::each_element(in, out, [&](const Number& mem, const Number& local) { return g * mem + rest * local; });
}

inline void gate_swapped(const In& in, const Out& out) { mix(in, out, sigmoid(-in.beta()), sigmoid(in.beta())); }

inline void sigmoid_missing(const In& in, const Out& out) { mix(in, out, in.beta(), Number(1) - in.beta()); }

inline void sum_without_complement(const In& in, const Out& out) { mix(in, out, sigmoid(in.beta()), Number(1)); }

inline void plain_sum(const In& in, const Out& out) { mix(in, out, Number(1), Number(1)); }

inline void tanh_gate(const In& in, const Out& out) {
  const Number g = Number(2) * sigmoid(Number(2) * in.beta()) - Number(1);
  mix(in, out, g, Number(1) - g);
}

inline void beta_ignored(const In& in, const Out& out) { mix(in, out, Number(0.5), Number(0.5)); }

inline void per_dimension_gate_misbroadcast(const In& in, const Out& out) {
  right::complement(in, out);
  for (Index i = 0; i < in.a_mem.extent(0); ++i)
    for (Index b = 1; b < in.a_mem.extent(1); ++b)
      out.a(i, b) = Number(0.5) * in.a_mem(i, b) + Number(0.5) * in.a_dot(i, b);
}

inline void concat(const In& in, const Out& out) {  // rows [a_mem | a_dot] of 2 m numbers, as many as fit
  const auto [n, m] = in.a_mem.extents();
  for (Index i = 0; i < n; ++i)
    for (Index b = 0; b < m; ++b) {
      const Index t = i * m + b, row = t / (2 * m), column = t % (2 * m);
      out.a(i, b) = column < m ? in.a_mem(row, column) : in.a_dot(row, column - m);
    }
}

inline void exp_of_beta(const In& in, const Out& out) {
  const Number e = exp(in.beta()), g = e / (Number(1) + e);
  mix(in, out, g, Number(1) - g);
}

inline void gate_drift(const In& in, const Out& out, const Number& c) {
  const Number beta = in.beta() * (Number(1) + c);
  mix(in, out, sigmoid(beta), sigmoid(-beta));
}

}  // namespace attest::faults::infini::gate
