// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Dense>
#include <type_traits>

#include "attest/view.hpp"

namespace attest::openmp {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Mapped = Eigen::Map<std::conditional_t<std::is_const_v<T>, const RowMajor<std::remove_const_t<T>>, RowMajor<T>>,
                          Eigen::Unaligned, Strides>;
template <class T>
using MappedColumn = Eigen::Map<std::conditional_t<std::is_const_v<T>, const Column<std::remove_const_t<T>>, Column<T>>,
                                Eigen::Unaligned, Eigen::InnerStride<>>;

/// A view as an Eigen matrix or vector, strides kept, nothing copied.
template <class T>
Mapped<T> matrix(View<T, 2> x) {
  return Mapped<T>(x.data(), x.extent(0), x.extent(1), Strides(x.stride(0), x.stride(1)));
}
template <class T>
MappedColumn<T> vector(View<T, 1> x) {
  return MappedColumn<T>(x.data(), x.extent(0), Eigen::InnerStride<>(x.stride(0)));
}

/// x y, compiled once for each type (openmp/products.cpp): Eigen's are instantiated for each pair of expressions, which
/// is most of what a unit takes to compile.
template <class T>
RowMajor<T> product(const Mapped<const T>& x, const Mapped<const T>& y);
template <class T>
Column<T> product(const Mapped<const T>& x, const MappedColumn<const T>& y);

/// The numbers of an expression where they lie in memory, else evaluated.
template <class X>
class Evaluated {
public:
  using T = typename X::Scalar;
  static constexpr bool kInMemory = bool(X::Flags & Eigen::DirectAccessBit);

  explicit Evaluated(const X& x) : x_(x) {}
  Mapped<const T> matrix() const { return {x_.data(), x_.rows(), x_.cols(), Strides(x_.rowStride(), x_.colStride())}; }
  MappedColumn<const T> column() const { return {x_.data(), x_.rows(), Eigen::InnerStride<>(x_.rowStride())}; }

private:
  std::conditional_t<kInMemory, const X&, std::conditional_t<X::ColsAtCompileTime == 1, Column<T>, RowMajor<T>>> x_;
};

template <class X>
concept AnyMatrix = std::is_base_of_v<Eigen::MatrixBase<X>, X> && X::RowsAtCompileTime == Eigen::Dynamic &&
                    X::ColsAtCompileTime == Eigen::Dynamic;
template <class X>
concept AnyColumn =
    std::is_base_of_v<Eigen::MatrixBase<X>, X> && X::RowsAtCompileTime == Eigen::Dynamic && X::ColsAtCompileTime == 1;

template <class X>
concept AnyRow =
    std::is_base_of_v<Eigen::MatrixBase<X>, X> && X::RowsAtCompileTime == 1 && X::ColsAtCompileTime == Eigen::Dynamic;

/// Kernels say x * y: of two matrices, or a matrix and a column or row, these are meant.
template <AnyMatrix X, AnyMatrix Y>
RowMajor<typename X::Scalar> operator*(const X& x, const Y& y) {
  return product<typename X::Scalar>(Evaluated<X>(x).matrix(), Evaluated<Y>(y).matrix());
}
template <AnyMatrix X, AnyColumn Y>
Column<typename X::Scalar> operator*(const X& x, const Y& y) {
  return product<typename X::Scalar>(Evaluated<X>(x).matrix(), Evaluated<Y>(y).column());
}
template <AnyRow X, AnyMatrix Y>
Eigen::RowVectorX<typename X::Scalar> operator*(const X& x, const Y& y) {
  return (y.transpose() * x.transpose()).transpose();
}

/// Factorizations, compiled once for each type (openmp/factorizations.cpp): x of (psi psi^T + lambda I) x = y, by
/// Cholesky.
template <class T>
RowMajor<T> ridge_solution(const RowMajor<T>& psi, T lambda, RowMajor<T> y);
template <class T>
struct Reflections {
  RowMajor<T> q;
  Column<T> diagonal;  // of the triangle
};
/// a = q times a triangle, by Householder reflections; a is square.
template <class T>
Reflections<T> reflections(const RowMajor<T>& a);
/// The x of least |a x - y|, by Householder reflections.
template <class T>
RowMajor<T> least_squares(const RowMajor<T>& a, const RowMajor<T>& y);
template <class T>
struct SingularValues {
  RowMajor<T> u, v;
  Column<T> s;
};
/// a = u diag(s) v^T, u and v as narrow as can be.
template <class T>
SingularValues<T> singular_values(const RowMajor<T>& a);

/// A matrix, or some rows or columns of one, as a view.
template <class M>
View<const typename M::Scalar, 2> view(const M& x) {
  return {x.data(), {x.rows(), x.cols()}, {x.rowStride(), x.colStride()}};
}
template <class M>
View<typename M::Scalar, 2> view(M& x) {
  return {x.data(), {x.rows(), x.cols()}, {x.rowStride(), x.colStride()}};
}

}  // namespace attest::openmp
