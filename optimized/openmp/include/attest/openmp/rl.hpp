// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/eigen.hpp"

/// Shared by the kernels of reinforcement learning.
namespace attest::openmp::rl {

template <class T>
struct Gate {
  View<const T, 2> w_r, u_r, w_z, u_z, w_g, u_g;
  View<const T, 1> b_g;
};

/// sigma(x) in place; e^-x that overflows gives 0.
template <class T>
void sigmoid(RowMajor<T>& x) {
  x = (1 + (-x.array()).exp()).inverse();
}

/// z and h of some tokens.
template <class T>
struct Gated {
  RowMajor<T> z, h;
};

/// z and h from their products with y, the stream x, and x U_r^T and x U_z^T.
template <class T, class X>
Gated<T> gated(const Gate<T>& gate, const X& x, RowMajor<T> r, RowMajor<T> z, RowMajor<T> h) {
  sigmoid(r);
  z.rowwise() -= vector(gate.b_g).transpose();
  sigmoid(z);
  h += (r.array() * x.array()).matrix() * matrix(gate.u_g).transpose();
  h = h.array().tanh();
  return {std::move(z), std::move(h)};
}

/// z and h by six products.
template <class T, class X, class Y>
Gated<T> gated(const Gate<T>& gate, const X& x, const Y& y) {
  RowMajor<T> r = y * matrix(gate.w_r).transpose(), z = y * matrix(gate.w_z).transpose();
  r += x * matrix(gate.u_r).transpose();
  z += x * matrix(gate.u_z).transpose();
  return gated<T>(gate, x, std::move(r), std::move(z), y * matrix(gate.w_g).transpose());
}

/// (1 - z) x + z h
template <class T, class X>
RowMajor<T> mixed(const Gated<T>& of, const X& x) {
  return ((1 - of.z.array()) * x.array() + of.z.array() * of.h.array()).matrix();
}

}  // namespace attest::openmp::rl
