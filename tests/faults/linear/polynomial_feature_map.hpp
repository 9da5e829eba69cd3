// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_retrieve.hpp"
#include "attest/reference/linear/polynomial_feature_map.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::polynomial_feature_map {

namespace right = attest::reference::linear::polynomial_feature_map;
using right::In;
using right::Out;
using right::product;

template <class T>
T squared(const T& x) { return x * x; }

/// sqrt(constant), sqrt(2 constant) in the symmetric layout
template <class T>
T linear_weight_of(const In<T>& in) { return sqrt(T(in.layout == "full" ? in.constant : 2 * in.constant)); }

/// The equation with other squares and products.
template <class T, class S, class X>
void with_products(const In<T>& in, const Out<T>& out, S&& square, X&& cross) {
  const T weight = linear_weight_of(in);
  right::each_feature(in, out, square, cross, [&](const T& x) { return T(weight * x); }, T(in.constant));
}

/// The equation with other features that hold the constant.
template <class T>
void with_constant(const In<T>& in, const Out<T>& out, const T& weight, const T& constant) {
  right::each_feature(in, out, squared<T>, [&](const T& x, const T& y) { return product(in, x, y); }, [&](const T& x) { return T(weight * x); }, constant);
}

/// The equation of f(x_a) in place of x_a.
template <class T, class F>
void with_input(const In<T>& in, const Out<T>& out, F&& f) {
  const auto x = matrix_of<T>(in.x.extent(0), in.x.extent(1), [&](Index i, Index a) { return f(T(in.x(i, a))); });
  In<T> other = in;
  other.x = x.view();
  right::direct(other, out);
}

template <class T>
void cross_weight_one(const In<T>& in, const Out<T>& out) {
  with_products(in, out, squared<T>, [](const T& x, const T& y) { return T(x * y); });
}

template <class T>
void cross_weight_two(const In<T>& in, const Out<T>& out) {
  with_products(in, out, squared<T>, [](const T& x, const T& y) { return T(T(2) * (x * y)); });
}

template <class T>
void linear_weight(const In<T>& in, const Out<T>& out) { with_constant(in, out, T(in.constant), T(in.constant)); }

template <class T>
void constant_missing(const In<T>& in, const Out<T>& out) { with_constant(in, out, linear_weight_of(in), T(0)); }

template <class T>
void constant_rooted(const In<T>& in, const Out<T>& out) { with_constant(in, out, linear_weight_of(in), T(sqrt(T(in.constant)))); }

template <class T>
void upper_triangle_twice(const In<T>& in, const Out<T>& out) {
  const auto both = [&](const T& x, const T& y) { return product(in, x, y); };
  with_products(in, out, [&](const T& x) { return both(x, x); }, both);
}

template <class T>
void pairs_row_by_row(const In<T>& in, const Out<T>& out) {
  right::direct(in, out);
  if (in.layout == "full") return;
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0, at = 0; a < in.x.extent(1); ++a)
      for (Index b = a; b < in.x.extent(1); ++b) out.phi(i, at++) = a == b ? squared(T(in.x(i, a))) : product(in, T(in.x(i, a)), T(in.x(i, b)));
}

template <class T>
void absolute_products(const In<T>& in, const Out<T>& out) {
  with_input(in, out, [](const T& x) { return positive(x) ? x : T(-x); });
}

template <class T>
void prescaled(const In<T>& in, const Out<T>& out) {
  with_input(in, out, [&](const T& x) { return T(x / sqrt(T(in.x.extent(1)))); });
}

template <class T>
void elements_mapped(const In<T>& in, const Out<T>& out) {
  with_input(in, out, [](const T& x) { return reference::infini::memory_retrieve::feature("elu_plus_one", x); });
}

template <class T>
void bf16_products(const In<T>& in, const Out<T>& out) {
  const auto kept = [](const T& x, const T& y) { return kept_in(DType::bf16, T(x * y)); };
  with_products(in, out, [&](const T& x) { return kept(x, x); },
                [&](const T& x, const T& y) { return in.layout == "full" ? kept(x, y) : T(sqrt(T(2)) * kept(x, y)); });
}

template <class T>
void input_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_input(in, out, [&](const T& x) { return T(x * (T(1) + c)); });
}

}  // namespace attest::faults::linear::polynomial_feature_map
