// SPDX-License-Identifier: MIT
#include "attest/spec/positional/xl_relative_score.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"

namespace attest::openmp::positional::xl_relative_score {

using attest::spec::positional::xl_relative_score::In;
using attest::spec::positional::xl_relative_score::Out;

/// r w_r in the order that a row of scores wants: row t is for offset s - 1 - t, from the farthest behind to the
/// farthest ahead.
template <class T>
RowMajor<T> distances(const In<T>& in) {
  const Index n = in.x_q.extent(0), s = in.x_k.extent(0);
  RowMajor<T> r(in.r_ahead ? s + n - 1 : s, in.r.extent(1));
  r.topRows(s) = matrix(in.r).colwise().reverse();
  if (in.r_ahead && n > 1) r.bottomRows(n - 1) = matrix(in.r_ahead).middleRows(1, n - 1);  // C1
  return r * matrix(in.w_r);
}

/// Every form: `score(i, row)` fills the first `row.size()` scores of query i, those with an r_o; the others are 0.
template <class T, class F>
void each_query(const In<T>& in, const Out<T>& out, F&& score) {
  const Index n = in.x_q.extent(0), s = in.x_k.extent(0);
  const T scale = in.scale ? static_cast<T>(*in.scale) : T(1) / std::sqrt(static_cast<T>(in.w_q.extent(1)));
#pragma omp parallel for schedule(static) if (n * s > 1024)
  for (Index i = 0; i < n; ++i) {
    const Index scored = in.r_ahead ? s : i + s - n + 1;
    Column<T> row = Column<T>::Zero(s);
    row.head(scored) = scale * score(i, scored);
    vector(out.a[i]) = row;  // C2
  }
}

template <class T>
void four_terms(const In<T>& in, const Out<T>& out) {
  const Index n = in.x_q.extent(0);
  const RowMajor<T> q = matrix(in.x_q) * matrix(in.w_q), k = matrix(in.x_k) * matrix(in.w_e), r = distances(in);
  const Column<T> content_bias = k * vector(in.u), distance_bias = r * vector(in.v);
  each_query(in, out, [&](Index i, Index scored) -> Column<T> {
    const Index first = n - 1 - i;
    return k.topRows(scored) * q.row(i).transpose() + r.middleRows(first, scored) * q.row(i).transpose() +
           content_bias.head(scored) + distance_bias.segment(first, scored);
  });
}

template <class T>
void grouped(const In<T>& in, const Out<T>& out) {
  const Index n = in.x_q.extent(0);
  const RowMajor<T> q = matrix(in.x_q) * matrix(in.w_q), k = matrix(in.x_k) * matrix(in.w_e), r = distances(in);
  const RowMajor<T> asks_content = q.rowwise() + vector(in.u).transpose(),
                    asks_distance = q.rowwise() + vector(in.v).transpose();
  each_query(in, out, [&](Index i, Index scored) -> Column<T> {
    return k.topRows(scored) * asks_content.row(i).transpose() +
           r.middleRows(n - 1 - i, scored) * asks_distance.row(i).transpose();
  });
}

/// Two dense products; the second is stored behind a column of zeros, and read as rows that are one number shorter.
template <class T>
void rel_shift(const In<T>& in, const Out<T>& out) {
  const Index n = in.x_q.extent(0);
  const RowMajor<T> q = matrix(in.x_q) * matrix(in.w_q), r = distances(in);
  const RowMajor<T> content = (q.rowwise() + vector(in.u).transpose()) * (matrix(in.x_k) * matrix(in.w_e)).transpose();
  const Index width = r.rows();
  RowMajor<T> padded = RowMajor<T>::Zero(n, width + 1);
  padded.rightCols(width) = (q.rowwise() + vector(in.v).transpose()) * r.transpose();
  const Eigen::Map<const RowMajor<T>> shifted(padded.data() + n, n, width);
  each_query(in, out, [&](Index i, Index scored) -> Column<T> {
    return (content.row(i).head(scored) + shifted.row(i).head(scored)).transpose();
  });
}

template void four_terms(const In<float>&, const Out<float>&);
template void four_terms(const In<double>&, const Out<double>&);
template void grouped(const In<float>&, const Out<float>&);
template void grouped(const In<double>&, const Out<double>&);
template void rel_shift(const In<float>&, const Out<float>&);
template void rel_shift(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::xl_relative_score
