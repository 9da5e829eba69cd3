// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/spalm_gate.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::spalm_gate {

namespace right = attest::reference::memory::spalm_gate;
using right::gate_of;
using right::In;
using right::Out;

inline Vector softmax(const Vector& x) { return reference::attention::softmax::shifted(x).first; }

/// x over sqrt(d)
inline Vector scaled(const In& in, const Vector& x) {
  const Number root = sqrt(Number(in.h.extent(0)));
  return tabulate(x.extent(), [&](Index t) { return x(t) / root; });
}

/// The equation with another distribution of z.
template <class F>
void with_distribution(const In& in, const Out& out, F&& distribution) {
  right::gated(in, out, softmax, distribution);
}

/// The equation with another average of the neighbours.
template <class F>
void with_weights(const In& in, const Out& out, F&& weights) {
  right::gated(in, out, weights, softmax);
}

/// The equation with another z_a = mix(m, a).
template <class F>
void with_mixture(const In& in, const Out& out, F&& mix) {
  const Vector m = product(softmax(right::logits(in)), in.y);
  const Vector z = tabulate(m.extent(), [&](Index a) { return mix(m, a); });
  right::write(out.z, z);
  right::write(out.p, softmax(product(in.w, z)));
}

inline Number before_sigmoid(const In& in) { return dot(in.w_g, in.h); }

inline void gate_swapped(const In& in, const Out& out) {
  const Number g = gate_of(before_sigmoid(in));
  with_mixture(in, out, [&](const Vector& m, Index a) { return right::mixed(g, m(a), in.h(a)); });
}

inline void scaled_dot(const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) { return softmax(scaled(in, l)); });
}

inline void mean_of_neighbours(const In& in, const Out& out) {
  with_weights(in, out,
               [](const Vector& l) { return tabulate(l.extent(), [&](Index) { return 1 / Number(l.extent()); }); });
}

inline void distance_weights(const In& in, const Out& out) {
  with_weights(in, out, [&](const Vector& l) {
    return softmax(tabulate(l.extent(), [&](Index i) {
      return -sum(in.h.extent(0), [&](Index a) { return (in.y(i, a) - in.h(a)) * (in.y(i, a) - in.h(a)); });
    }));
  });
}

inline void tanh_gate(const In& in, const Out& out) {
  const Number g = 2 * sigmoid(2 * before_sigmoid(in)) - 1;
  with_mixture(in, out, [&](const Vector& m, Index a) { return g * in.h(a) + (1 - g) * m(a); });
}

inline void no_gate(const In& in, const Out& out) {
  with_mixture(in, out, [&](const Vector& m, Index a) { return m(a) + in.h(a); });
}

inline void gate_of_memory(const In& in, const Out& out) {
  with_mixture(in, out, [&](const Vector& m, Index a) { return right::mixed(gate_of(dot(in.w_g, m)), in.h(a), m(a)); });
}

inline void gate_per_column(const In& in, const Out& out) {
  with_mixture(in, out,
               [&](const Vector& m, Index a) { return right::mixed(gate_of(in.w_g(a) * in.h(a)), in.h(a), m(a)); });
}

/// The equation without the neighbour `dropped`, where another is left.
inline void without(const In& in, const Out& out, Index dropped) {
  with_weights(in, out, [&](const Vector& l) {
    const Index k = l.extent();
    if (k == 1) return softmax(l);
    const Vector a = softmax(tabulate(k - 1, [&](Index i) { return l(i < dropped ? i : i + 1); }));
    return tabulate(k, [&](Index i) { return i == dropped ? Number(0) : a(i < dropped ? i : i - 1); });
  });
}

inline void last_neighbour_dropped(const In& in, const Out& out) { without(in, out, in.y.extent(0) - 1); }
inline void first_neighbour_dropped(const In& in, const Out& out) { without(in, out, 0); }

inline void distribution_of_h(const In& in, const Out& out) {
  with_distribution(in, out, [&](const Vector&) { return softmax(product(in.w, in.h)); });
}

inline void distribution_scaled(const In& in, const Out& out) {
  with_distribution(in, out, [&](const Vector& l) { return softmax(scaled(in, l)); });
}

inline void logits_returned(const In& in, const Out& out) {
  with_distribution(in, out, [](const Vector& l) { return l; });
}

inline void gate_drift(const In& in, const Out& out, const Number& c) {
  const Number g = gate_of(before_sigmoid(in) * (Number(1) + c));
  with_mixture(in, out, [&](const Vector& m, Index a) { return right::mixed(g, in.h(a), m(a)); });
}

}  // namespace attest::faults::memory::spalm_gate
