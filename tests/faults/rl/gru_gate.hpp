// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/rl/gru_gate.hpp"
#include "faults/fault.hpp"

namespace attest::faults::rl::gru_gate {

namespace right = attest::reference::rl::gru_gate;
using right::In;
using right::Out;

/// The equation with another mixture of x and h.
template <class M>
void with_mixture(const In& in, const Out& out, M&& mix) {
  right::each_token(in, out, [&](const Row& x, const Row& y) { return right::gated(in, x, y); }, mix);
}

/// The equation with biases of the three products with y and another function in the candidate.
template <class T>
void with_parts(const In& in, const Out& out, const Number& bias_r, const Number& bias, bool reset_inside,
                const Number& scale_of_r, T&& tanh) {
  const auto gates = [&](const Row& x, const Row& y) {
    const Index d = x.extent(0);
    const auto r = tabulate(d, [&](Index a) {
      return sigmoid(dot(in.w_r[a], y) + dot(in.u_r[a], x) + bias - bias_r * in.b_g(a)) * scale_of_r + (1 - scale_of_r);
    });
    const auto z =
        tabulate(d, [&](Index a) { return sigmoid(dot(in.w_z[a], y) + dot(in.u_z[a], x) + bias - in.b_g(a)); });
    const auto inside = tabulate(d, [&](Index a) { return reset_inside ? r(a) * x(a) : x(a); });
    return right::Gated{z, tabulate(d, [&](Index a) {
                          const Number product = dot(in.u_g[a], inside);
                          return tanh(dot(in.w_g[a], y) + bias + (reset_inside ? product : r(a) * product));
                        })};
  };
  right::each_token(in, out, gates, right::mixed);
}

inline void z_swapped(const In& in, const Out& out) {
  with_mixture(in, out, [](const Number& z, const Number& x, const Number& h) { return z * x + (1 - z) * h; });
}

inline void candidate_added(const In& in, const Out& out) {
  with_mixture(in, out, [](const Number& z, const Number& x, const Number& h) { return x + z * h; });
}

inline void stream_drift(const In& in, const Out& out, const Number& c) {
  with_mixture(in, out, [&](const Number& z, const Number& x, const Number& h) {
    return (1 - z) * (x * (Number(1) + c)) + z * h;
  });
}

/// The equation with b times that number.
inline void with_bias(const In& in, const Out& out, int factor) {
  In other = in;
  const Vector b = tabulate(in.b_g.extent(0), [&](Index a) { return in.b_g(a) * factor; });
  other.b_g = b.view();
  right::direct(other, out);
}

inline void bias_sign(const In& in, const Out& out) { with_bias(in, out, -1); }

inline void bias_missing(const In& in, const Out& out) { with_bias(in, out, 0); }

inline void bias_on_reset(const In& in, const Out& out) { with_parts(in, out, 1, 0, true, 1, reference::tanh); }

inline void extra_bias(const In& in, const Out& out) {
  with_parts(in, out, 0, Number(0.125), true, 1, reference::tanh);
}

inline void reset_missing(const In& in, const Out& out) { with_parts(in, out, 0, 0, true, 0, reference::tanh); }

inline void reset_after_matrix(const In& in, const Out& out) { with_parts(in, out, 0, 0, false, 1, reference::tanh); }

inline void sigmoid_candidate(const In& in, const Out& out) {
  with_parts(in, out, 0, 0, true, 1, [](const Number& t) { return sigmoid(t); });
}

inline void exp_of_logits(const In& in, const Out& out) {
  with_parts(in, out, 0, 0, true, 1, [](const Number& t) {
    const Number e = exp(2 * t);
    return (e - 1) / (e + 1);
  });
}

inline void x_y_swapped(const In& in, const Out& out) {
  In other = in;
  other.x = in.y, other.y = in.x;
  right::direct(other, out);
}

inline void gates_exchanged(const In& in, const Out& out) {
  In other = in;
  other.w_r = in.w_z, other.w_z = in.w_r, other.u_r = in.u_z, other.u_z = in.u_r;
  right::direct(other, out);
}

inline void weights_transposed(const In& in, const Out& out) {
  In other = in;
  for (auto w : {&In::w_r, &In::u_r, &In::w_z, &In::u_z, &In::w_g, &In::u_g}) other.*w = (in.*w).transposed();
  right::direct(other, out);
}

}  // namespace attest::faults::rl::gru_gate
