// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/feature_map.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::feature_map {

namespace right = attest::reference::linear::feature_map;
using right::In;
using right::Out;

/// The equation with another elu_plus_one; the other maps as they are.
template <class T, class F>
void with_elu(const In<T>& in, const Out<T>& out, F&& phi) {
  if (in.kind != "elu_plus_one") return right::branch(in, out);
  right::each_element(in, out, [&](const T& x) { return T(phi(x)); });
}

/// The equation on other inputs.
template <class T>
void with_factor(In<T> in, const Out<T>& out, const T& factor) {
  const auto x = matrix_of<T>(in.x.extent(0), in.x.extent(1), [&](Index i, Index c) { return factor * in.x(i, c); });
  in.x = x.view();
  right::branch(in, out);
}

template <class T>
void elu_without_one(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return positive(x) ? x : T(exp(x) - T(1)); });
}

template <class T>
void expm1_plus_one(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return positive(x) ? T(x + T(1)) : T((exp(x) - T(1)) + T(1)); });
}

template <class T>
void relu_plus_one(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return positive(x) ? T(x + T(1)) : T(1); });
}

template <class T>
void exp_everywhere(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return exp(x); });
}

template <class T>
void alpha_not_one(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return positive(x) ? T(x + T(1)) : T(T(0.5) * exp(x) + T(0.5)); });
}

template <class T>
void negative_as_positive(const In<T>& in, const Out<T>& out) {
  with_elu(in, out, [](const T& x) { return positive(x) ? T(x + T(1)) : T(exp(-x)); });
}

template <class T>
void kind_ignored(const In<T>& in, const Out<T>& out) {
  right::each_element(in, out, [](const T& x) { return positive(x) ? T(x + T(1)) : T(exp(x)); });
}

template <class T>
void map_missing(const In<T>& in, const Out<T>& out) {
  right::each_element(in, out, [](const T& x) { return x; });
}

template <class T>
void prescaled(const In<T>& in, const Out<T>& out) { with_factor(in, out, T(T(1) / sqrt(T(in.x.extent(1))))); }

template <class T>
void input_drift(const In<T>& in, const Out<T>& out, const T& c) { with_factor(in, out, T(T(1) + c)); }

}  // namespace attest::faults::linear::feature_map
