// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/depth_classifier.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::adaptive::depth_classifier {

using attest::spec::adaptive::depth_classifier::In;
using attest::spec::adaptive::depth_classifier::Kind;
using attest::spec::adaptive::depth_classifier::Out;

template <class T, class Row>
void softmax(Row&& l) {
  l.array() = (l.array() - l.maxCoeff()).exp();
  l /= l.sum();
}

template <class T>
void to_all(const In<T>& in, const Out<T>& out, Column<T> l) {
  l += vector(in.b);
  softmax<T>(l);
  matrix(out.q).rowwise() = l.transpose();
}

/// sum_t row(t) / count over the tokens that count.
template <class T, class F>
Column<T> mean(const In<T>& in, Index width, F&& row) {
  Column<T> total = Column<T>::Zero(width);
  Index count = 0;
  for (Index t = 0; t < in.x.extent(0); ++t)
    if (!in.counted || in.counted(t)) {
      total += row(t);
      ++count;
    }
  return count == 0 ? total : Column<T>(total / static_cast<T>(count));  // C1
}

template <class T>
void mean_then_project(const In<T>& in, const Out<T>& out) {
  if (in.kind == Kind::sequence)
    return to_all(in, out,
                  Column<T>(matrix(in.w) * mean(in, in.x.extent(1), [&](Index t) { return vector(in.x[t]); })));
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    RowMajor<T> l = matrix(in.x.rows(first, count)) * matrix(in.w).transpose();
    l.rowwise() += vector(in.b).transpose();
    for (Index i = 0; i < count; ++i) softmax<T>(l.row(i));
    matrix(out.q.rows(first, count)) = l;
  });
}

template <class T>
void project_then_mean(const In<T>& in, const Out<T>& out) {
  RowMajor<T> l(in.x.extent(0), in.w.extent(0));
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    l.middleRows(first, count).noalias() = matrix(in.x.rows(first, count)) * matrix(in.w).transpose();
  });
  to_all(in, out, mean(in, in.w.extent(0), [&](Index t) { return l.row(t).transpose(); }));
}

template void mean_then_project(const In<float>&, const Out<float>&);
template void mean_then_project(const In<double>&, const Out<double>&);
template void project_then_mean(const In<float>&, const Out<float>&);
template void project_then_mean(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::depth_classifier
