// SPDX-License-Identifier: MIT
// Products of matrices by Eigen, for all units of kernels.
#include "attest/openmp/eigen.hpp"

namespace attest::openmp {
namespace {

/// f(x) with rows or columns that are dense in memory: a copy where x has neither.
template <class T, class F>
void with_dense(const Mapped<const T>& x, F&& f) {
  using Rows = Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
  using Columns =
      Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, Eigen::Unaligned, Eigen::OuterStride<>>;
  if (x.colStride() == 1 || x.cols() <= 1) {
    f(Rows(x.data(), x.rows(), x.cols(), Eigen::OuterStride<>(x.rowStride())));
  } else if (x.rowStride() == 1 || x.rows() <= 1) {
    f(Columns(x.data(), x.rows(), x.cols(), Eigen::OuterStride<>(x.colStride())));
  } else {
    const RowMajor<T> copy = x;
    f(Rows(copy.data(), x.rows(), x.cols(), Eigen::OuterStride<>(x.cols())));
  }
}

}  // namespace

template <class T>
RowMajor<T> product(const Mapped<const T>& x, const Mapped<const T>& y) {
  RowMajor<T> xy(x.rows(), y.cols());
  with_dense<T>(x, [&](const auto& a) { with_dense<T>(y, [&](const auto& b) { xy.noalias() = a.operator*(b); }); });
  return xy;
}

template <class T>
Column<T> product(const Mapped<const T>& x, const MappedColumn<const T>& y) {
  Column<T> xy(x.rows());
  with_dense<T>(x, [&](const auto& a) { xy.noalias() = a.operator*(y); });
  return xy;
}

template RowMajor<float> product(const Mapped<const float>&, const Mapped<const float>&);
template RowMajor<double> product(const Mapped<const double>&, const Mapped<const double>&);
template Column<float> product(const Mapped<const float>&, const MappedColumn<const float>&);
template Column<double> product(const Mapped<const double>&, const MappedColumn<const double>&);

}  // namespace attest::openmp
