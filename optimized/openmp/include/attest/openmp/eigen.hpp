// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Dense>

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
