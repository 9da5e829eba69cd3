// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/memory_retrieve.hpp"
#include "attest/reference/linear/polynomial_feature_map.hpp"
#include "faults/fault.hpp"

namespace attest::faults::linear::polynomial_feature_map {

namespace right = attest::reference::linear::polynomial_feature_map;
using attest::spec::linear::polynomial_feature_map::Layout;
using right::In;
using right::Out;
using right::product;

inline Number squared(const Number& x) { return x * x; }

/// sqrt(constant), sqrt(2 constant) in the symmetric layout
inline Number linear_weight_of(const In& in) {
  const double squared = in.layout == Layout::full ? in.constant : 2 * in.constant;
  return sqrt(parameter(squared));
}

/// The equation with other squares and products.
template <class S, class X>
void with_products(const In& in, const Out& out, S&& square, X&& cross) {
  const Number weight = linear_weight_of(in);
  right::each_feature(in, out, square, cross, [&](const Number& x) { return weight * x; }, parameter(in.constant));
}

/// The equation with other features that hold the constant.
inline void with_constant(const In& in, const Out& out, const Number& weight, const Number& constant) {
  right::each_feature(
      in, out, squared, [&](const Number& x, const Number& y) { return product(in, x, y); },
      [&](const Number& x) { return weight * x; }, constant);
}

/// The equation of f(x_a) in place of x_a.
template <class F>
void with_input(const In& in, const Out& out, F&& f) {
  const auto x = matrix_of(in.x.extent(0), in.x.extent(1), [&](Index i, Index a) { return f(in.x(i, a)); });
  In other = in;
  other.x = x.view();
  right::direct(other, out);
}

inline void cross_weight_one(const In& in, const Out& out) {
  with_products(in, out, squared, [](const Number& x, const Number& y) { return x * y; });
}

inline void cross_weight_two(const In& in, const Out& out) {
  with_products(in, out, squared, [](const Number& x, const Number& y) { return Number(2) * (x * y); });
}

inline void linear_weight(const In& in, const Out& out) {
  with_constant(in, out, parameter(in.constant), parameter(in.constant));
}

inline void constant_missing(const In& in, const Out& out) { with_constant(in, out, linear_weight_of(in), Number(0)); }

inline void constant_rooted(const In& in, const Out& out) {
  with_constant(in, out, linear_weight_of(in), sqrt(parameter(in.constant)));
}

inline void upper_triangle_twice(const In& in, const Out& out) {
  const auto both = [&](const Number& x, const Number& y) { return product(in, x, y); };
  with_products(in, out, [&](const Number& x) { return both(x, x); }, both);
}

inline void pairs_row_by_row(const In& in, const Out& out) {
  right::direct(in, out);
  if (in.layout == Layout::full) return;
  for (Index i = 0; i < in.x.extent(0); ++i)
    for (Index a = 0, at = 0; a < in.x.extent(1); ++a)
      for (Index b = a; b < in.x.extent(1); ++b)
        out.phi(i, at++) = a == b ? squared(in.x(i, a)) : product(in, in.x(i, a), in.x(i, b));
}

inline void absolute_products(const In& in, const Out& out) {
  with_input(in, out, [](const Number& x) { return positive(x) ? x : -x; });
}

inline void prescaled(const In& in, const Out& out) {
  with_input(in, out, [&](const Number& x) { return x / sqrt(Number(in.x.extent(1))); });
}

inline void elements_mapped(const In& in, const Out& out) {
  using reference::infini::memory_retrieve::FeatureMap;
  with_input(in, out,
             [](const Number& x) { return reference::infini::memory_retrieve::feature(FeatureMap::elu_plus_one, x); });
}

inline void bf16_products(const In& in, const Out& out) {
  const auto kept = [](const Number& x, const Number& y) { return kept_in(DType::bf16, x * y); };
  with_products(
      in, out, [&](const Number& x) { return kept(x, x); },
      [&](const Number& x, const Number& y) {
        return in.layout == Layout::full ? kept(x, y) : sqrt(Number(2)) * kept(x, y);
      });
}

inline void input_drift(const In& in, const Out& out, const Number& c) {
  with_input(in, out, [&](const Number& x) { return x * (Number(1) + c); });
}

}  // namespace attest::faults::linear::polynomial_feature_map
