// SPDX-License-Identifier: MIT
#include "attest/spec/adaptive/universal_step.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/tasks.hpp"

namespace attest::openmp::adaptive::universal_step {

using attest::spec::adaptive::universal_step::In;
using attest::spec::adaptive::universal_step::Out;

/// Attention of the tokens on themselves: each head a task, then the output projection.
template <class T>
RowMajor<T> attended(const In<T>& in, const RowMajor<T>& x) {
  const Index heads = in.w_q.extent(0), m = in.w_v.extent(2);
  RowMajor<T> all(x.rows(), heads * m), w_o(heads * m, x.cols());
  each_task(heads, x.rows() > 16, [&](Index h) {
    const RowMajor<T> q = x * matrix(in.w_q[h]), k = x * matrix(in.w_k[h]), v = x * matrix(in.w_v[h]);
    RowMajor<T> o(x.rows(), m);
    engine::attend({.q = view(q), .k = view(k), .v = view(v), .scale = T(1) / std::sqrt(static_cast<T>(q.cols()))},
                   {.o = view(o)});
    all.middleCols(h * m, m) = o;
    w_o.middleRows(h * m, m) = matrix(in.w_o[h]);
  });
  return all * w_o;
}

template <class T>
RowMajor<T> transformed(const In<T>& in, const RowMajor<T>& a) {
  RowMajor<T> hidden = a * matrix(in.w_1);
  if (in.b_1) hidden.rowwise() += vector(in.b_1).transpose();
  RowMajor<T> y = hidden.cwiseMax(T(0)) * matrix(in.w_2);
  if (in.b_2) y.rowwise() += vector(in.b_2).transpose();
  return y;
}

template <class T>
void normalise(const In<T>& in, RowMajor<T>& x, View<const T, 1> gamma, View<const T, 1> beta) {
  for (Index i = 0; i < x.rows(); ++i) {
    x.row(i).array() -= x.row(i).mean();
    x.row(i) /= std::sqrt(x.row(i).squaredNorm() / static_cast<T>(x.cols()) + static_cast<T>(in.eps));
    if (gamma) x.row(i).array() *= vector(gamma).transpose().array();
    if (beta) x.row(i) += vector(beta).transpose();
  }
}

template <class T>
void step(const In<T>& in, const Out<T>& out) {
  RowMajor<T> h = matrix(in.x);
  for (Index t = 0; t < in.p.extent(0); ++t) {
    const RowMajor<T> x = h + matrix(in.p[t]);
    RowMajor<T> a = (in.residual_position ? x : h) + attended(in, x);
    normalise<T>(in, a, in.gamma_1, in.beta_1);
    h = a + transformed(in, a);
    normalise<T>(in, h, in.gamma_2, in.beta_2);
  }
  matrix(out.y) = h;
}

template void step(const In<float>&, const Out<float>&);
template void step(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::adaptive::universal_step
