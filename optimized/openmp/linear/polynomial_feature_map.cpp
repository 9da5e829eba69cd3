// SPDX-License-Identifier: MIT
#include "attest/spec/linear/polynomial_feature_map.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::linear::polynomial_feature_map {

using attest::spec::linear::polynomial_feature_map::In;
using attest::spec::linear::polynomial_feature_map::Layout;
using attest::spec::linear::polynomial_feature_map::Out;

/// All products of [x, sqrt(constant)] with itself, row after row; that of the constant is written without a root.
template <class T>
void full(const In<T>& in, const Out<T>& out, Index i) {
  const Index d = in.x.extent(1), width = in.constant > 0 ? d + 1 : d;  // C2, C3
  Column<T> y(width);
  y.head(d) = vector(in.x[i]);
  if (width > d) y(d) = static_cast<T>(std::sqrt(in.constant));
  auto phi = vector(out.phi[i]);
  for (Index a = 0; a < width; ++a) phi.segment(a * width, width) = y(a) * y;
  if (width > d) phi(width * width - 1) = static_cast<T>(in.constant);
}

/// Squares, then the rows of the strict upper triangle, each a multiple of the rest of x, then what holds the constant.
template <class T>
void symmetric(const In<T>& in, const Out<T>& out, Index i) {
  const Index d = in.x.extent(1);  // C4, C5
  const Column<T> x = vector(in.x[i]);
  auto phi = vector(out.phi[i]);
  phi.head(d) = x.cwiseAbs2();
  Index at = d;
  for (Index a = 0; a + 1 < d; ++a) {
    const Index rest = d - a - 1;
    phi.segment(at, rest) = static_cast<T>(std::sqrt(2.0)) * x(a) * x.tail(rest);
    at += rest;
  }
  if (!(in.constant > 0)) return;
  phi.segment(at, d) = static_cast<T>(std::sqrt(2 * in.constant)) * x;
  phi(at + d) = static_cast<T>(in.constant);
}

/// Rows are independent.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) in.layout == Layout::full ? full(in, out, i) : symmetric(in, out, i);
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::linear::polynomial_feature_map
