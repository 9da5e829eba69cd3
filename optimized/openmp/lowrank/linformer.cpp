// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/linformer.hpp"

#include "attest/openmp/attention.hpp"
#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::lowrank::linformer {

using attest::spec::lowrank::linformer::In;
using attest::spec::lowrank::linformer::Out;
using attest::spec::lowrank::linformer::Sharing;

template <class T>
bool pools(const In<T>& in) {
  return in.sharing == Sharing::mean_pool || in.sharing == Sharing::max_pool;
}

/// Slots of the rows of x: pools of rows, or a product with w.
template <class T>
RowMajor<T> slots(const In<T>& in, View<const T, 2> w, View<const T, 2> tokens) {
  const auto x = matrix(tokens);
  RowMajor<T> y(w.extent(0), x.cols());
  const Index length = x.rows() / y.rows();  // C1
  each_tile(y.rows(), [&](Index first, Index count) {
    if (!pools(in)) {
      y.middleRows(first, count).noalias() = matrix(w.rows(first, count)) * x;
      return;
    }
    for (Index r = first; r < first + count; ++r) {
      const auto pool = x.middleRows(r * length, length).colwise();
      if (in.sharing == Sharing::max_pool)
        y.row(r) = pool.maxCoeff();
      else
        y.row(r) = pool.sum() / static_cast<T>(length);
    }
  });
  return y;
}

template <class T>
void attend(const In<T>& in, const Out<T>& out, View<const T, 2> k, View<const T, 2> v) {
  engine::attend(engine::Problem<T>{.q = in.q, .k = k, .v = v, .scale = attention::scale_of<T>(in)},
                 engine::Forward<T>{.schedule = engine::Schedule::whole_row, .o = out.o});
}

template <class T>
void project_keys(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> k = slots(in, in.e, in.k), v = slots(in, in.sharing == Sharing::none ? in.f : in.e, in.v);
  attend(in, out, view(k), view(v));
}

/// One product with [k | v]: E is read once.
template <class T>
void fused_heads(const In<T>& in, const Out<T>& out) {
  const Index d = in.k.extent(1), m = in.v.extent(1);
  RowMajor<T> all(in.k.extent(0), d + m);
  all.leftCols(d) = matrix(in.k);
  all.rightCols(m) = matrix(in.v);
  const RowMajor<T> both = slots(in, in.e, view(std::as_const(all)));
  attend(in, out, view(both).columns(0, d), view(both).columns(d, m));
}

template void project_keys(const In<float>&, const Out<float>&);
template void project_keys(const In<double>&, const Out<double>&);
template void fused_heads(const In<float>&, const Out<float>&);
template void fused_heads(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::linformer
