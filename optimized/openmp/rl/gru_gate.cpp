// SPDX-License-Identifier: MIT
#include "attest/spec/rl/gru_gate.hpp"

#include "attest/openmp/rl.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::rl::gru_gate {

using attest::spec::rl::gru_gate::In;
using attest::spec::rl::gru_gate::Out;

template <class T>
Gate<T> gate_of(const In<T>& in) {
  return {in.w_r, in.u_r, in.w_z, in.u_z, in.w_g, in.u_g, in.b_g};
}

/// mix(x, y) of tiles of tokens.
template <class T, class F>
void each_rows(const In<T>& in, const Out<T>& out, F&& mix) {
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    matrix(out.g.rows(first, count)) = mix(matrix(in.x.rows(first, count)), matrix(in.y.rows(first, count)));
  });
}

template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const Gate<T> gate = gate_of(in);
  each_rows(in, out, [&](const auto& x, const auto& y) { return mixed<T>(gated<T>(gate, x, y), x); });
}

/// Two products per tile before the candidate's own: with all that y is multiplied by, and with all that x is.
template <class T>
void fused(const In<T>& in, const Out<T>& out) {
  const Index d = in.x.extent(1);
  const Gate<T> gate = gate_of(in);
  RowMajor<T> w(3 * d, d), u(2 * d, d);
  w << matrix(in.w_r), matrix(in.w_z), matrix(in.w_g);
  u << matrix(in.u_r), matrix(in.u_z);
  each_rows(in, out, [&](const auto& x, const auto& y) {
    RowMajor<T> all = y * w.transpose();
    all.leftCols(2 * d) += x * u.transpose();
    return mixed<T>(gated<T>(gate, x, all.leftCols(d), all.middleCols(d, d), all.rightCols(d)), x);
  });
}

/// One product per element: a step from the stream, whole where both agree.
template <class T>
void lerp(const In<T>& in, const Out<T>& out) {
  const Gate<T> gate = gate_of(in);
  each_rows(in, out, [&](const auto& x, const auto& y) -> RowMajor<T> {
    const Gated<T> of = gated<T>(gate, x, y);
    return (x.array() + of.z.array() * (of.h - x).array()).matrix();
  });
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);
template void fused(const In<float>&, const Out<float>&);
template void fused(const In<double>&, const Out<double>&);
template void lerp(const In<float>&, const Out<float>&);
template void lerp(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::rl::gru_gate
