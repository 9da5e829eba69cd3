// SPDX-License-Identifier: MIT
#pragma once

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

/// Products under a causal mask, some rows at a time: what the gradients of causal linear attention are made of.
namespace attest::openmp::linear {

/// Rows first .. first + count - 1 of tril(a b^T) c: what they see is everything from `start` to themselves.
template <class T>
RowMajor<T> look_back(const RowMajor<T>& a, const RowMajor<T>& b, const RowMajor<T>& c, Index first, Index count,
                      Index start) {
  const Index seen = first + count - start;
  RowMajor<T> w = a.middleRows(first, count) * b.middleRows(start, seen).transpose();
  w.rightCols(count).template triangularView<Eigen::StrictlyUpper>().setZero();
  return w * c.middleRows(start, seen);
}

/// Rows first .. first + count - 1 of tril(a b^T)^T c: what they see is everything from themselves to before `stop`.
template <class T>
RowMajor<T> look_ahead(const RowMajor<T>& a, const RowMajor<T>& b, const RowMajor<T>& c, Index first, Index count,
                       Index stop) {
  RowMajor<T> w = b.middleRows(first, count) * a.middleRows(first, stop - first).transpose();
  w.leftCols(count).template triangularView<Eigen::StrictlyLower>().setZero();
  return w * c.middleRows(first, stop - first);
}

}  // namespace attest::openmp::linear
