// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/rl/gru_gate.hpp"

namespace attest::reference::rl::gru_gate {

using In = attest::spec::rl::gru_gate::In<Number>;
using Out = attest::spec::rl::gru_gate::Out<Number>;

/// Products of a matrix's row, which kernels may keep.
inline Number of_y(const Row& w, const Row& y) { return stage("products of y", stored(dot(w, y))); }
inline Number of_stream(const Row& u, const Row& x) { return stage("products of the stream", stored(dot(u, x))); }

/// w y + u x - b_g, what the update gate is sigma of.
inline Number update(const In& in, Index a, const Number& products) {
  return biased(products, -in.b_g(a), 2 * in.b_g.extent(0));
}

/// The update gate z and the candidate h of one token.
struct Gated {
  Vector z, h;
};

/// r * x
inline Vector reset(const Vector& r, const Row& x) {
  return stage("reset stream", tabulate(x.extent(0), [&](Index a) { return r(a) * x(a); }));
}

/// A gate: sigma of every element.
inline Vector gate(const Vector& x) {
  return stage("gates", tabulate(x.extent(), [&](Index a) { return sigmoid(x(a)); }));
}

/// tanh(W_g y + U_g (r * x)), `product_of_y` being W_g y
inline Vector candidate(const In& in, const Vector& product_of_y, const Vector& reset_stream) {
  return stage("candidate", tabulate(reset_stream.extent(), [&](Index a) {
                 return tanh(stage("pre-activations", product_of_y(a) + of_stream(in.u_g[a], reset_stream)));
               }));
}

/// z and h by six products.
inline Gated gated(const In& in, const Row& x, const Row& y) {
  const Index d = x.extent(0);
  const auto r = gate(
      tabulate(d, [&](Index a) { return stage("pre-activations", of_y(in.w_r[a], y) + of_stream(in.u_r[a], x)); }));
  const auto z = gate(tabulate(d, [&](Index a) {
    return stage("pre-activations", update(in, a, of_y(in.w_z[a], y) + of_stream(in.u_z[a], x)));
  }));
  return {z, candidate(in, tabulate(d, [&](Index a) { return of_y(in.w_g[a], y); }), reset(r, x))};
}

/// (1 - z) x + z h, z rounded or not before it is taken from 1
inline Number mixed(const Number& z, const Number& x, const Number& h) {
  const Number factor = operand(z);
  return stage("share of the stream", times(1 - factor, x)) + stage("share of the candidate", factor * operand(h));
}

/// Every form: g(z, x, h) for each element of each token.
template <class F, class M>
void each_token(const In& in, const Out& out, F&& gates, M&& mix) {
  for (const Index i : wanted(out.g)) {
    const Gated of = gates(in.x[i], in.y[i]);
    for (Index a = 0; a < in.x.extent(1); ++a) out.g(i, a) = mix(of.z(a), in.x(i, a), of.h(a));
  }
}

/// g = (1 - z) * x + z * h      [Parisotto et al. 2019, section 3.2]
inline void direct(const In& in, const Out& out) {
  each_token(in, out, [&](const Row& x, const Row& y) { return gated(in, x, y); }, mixed);
}

/// [W_r; W_z; W_g] y, onto which [U_r; U_z] x is added term by term.
inline void fused(const In& in, const Out& out) {
  const auto gates = [&](const Row& x, const Row& y) {
    const auto all_of_y = [&](View<const Number, 2> w) { return stage("products of y", product(w, y)); };
    const auto onto = [&](const Vector& start, View<const Number, 2> u) {
      return stage("pre-activations", tabulate(start.extent(), [&](Index a) { return dot(u[a], x, start(a)); }));
    };
    const auto r = gate(onto(all_of_y(in.w_r), in.u_r));
    const auto before = onto(all_of_y(in.w_z), in.u_z);
    const auto z = gate(tabulate(before.extent(), [&](Index a) { return update(in, a, before(a)); }));
    return Gated{z, candidate(in, all_of_y(in.w_g), reset(r, x))};
  };
  each_token(in, out, gates, mixed);
}

/// g = x + z * (h - x)
inline void lerp(const In& in, const Out& out) {
  each_token(
      in, out, [&](const Row& x, const Row& y) { return gated(in, x, y); },
      [](const Number& z, const Number& x, const Number& h) { return x + times(z, stage("differences", h - x)); });
}

}  // namespace attest::reference::rl::gru_gate
