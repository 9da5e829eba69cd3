// SPDX-License-Identifier: MIT
#include "attest/spec/memory/spalm_gate.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/sigmoid.hpp"

namespace attest::openmp::memory::spalm_gate {

using attest::spec::memory::spalm_gate::In;
using attest::spec::memory::spalm_gate::Out;

/// m is what the query h attends to, over the neighbours; p the softmax of a row.
template <class T>
void attention(const In<T>& in, const Out<T>& out) {
  const Index d = in.h.extent(0);
  RowMajor<T> m(1, d);
  engine::attend({.q = View<const T, 2>(in.h.data(), {1, d}, {d, in.h.stride(0)}), .k = in.y, .v = in.y, .scale = T(1)},
                 {.schedule = engine::Schedule::whole_row, .o = view(m)});
  const T x = vector(in.w_g).dot(vector(in.h)), g = sigmoid(x), rest = sigmoid(-x);
  const Column<T> z = g * vector(in.h) + rest * m.row(0).transpose();
  vector(out.z) = z;
  if (!out.p) return;
  const Column<T> l = matrix(in.w) * z;
  const Column<T> e = (l.array() - l.maxCoeff()).exp();
  vector(out.p) = e / e.sum();
}

template void attention(const In<float>&, const Out<float>&);
template void attention(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::memory::spalm_gate
