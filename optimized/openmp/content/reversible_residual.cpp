// SPDX-License-Identifier: MIT
#include "attest/spec/content/reversible_residual.hpp"

#include <array>
#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/engine/attend.hpp"

namespace attest::openmp::content::reversible_residual {

using attest::spec::content::reversible_residual::Direction;
using attest::spec::content::reversible_residual::In;
using attest::spec::content::reversible_residual::Out;

/// F of one block.
template <class T>
RowMajor<T> attended(const In<T>& in, Index b, const RowMajor<T>& u) {
  const RowMajor<T> q = u * matrix(in.w_q[b]), k = u * matrix(in.w_k[b]), v = u * matrix(in.w_v[b]);
  RowMajor<T> o(u.rows(), u.cols());
  engine::attend({.q = view(q), .k = view(k), .v = view(v), .scale = T(1) / std::sqrt(static_cast<T>(u.cols()))},
                 {.o = view(o)});
  return o;
}

/// G of one block.
template <class T>
RowMajor<T> fed_forward(const In<T>& in, Index b, const RowMajor<T>& u) {
  const RowMajor<T> hidden = (u * matrix(in.w_1[b])).cwiseMax(T(0));
  return hidden * matrix(in.w_2[b]);
}

/// Each block as its two equations, or their inverses from the last block on.
template <class T>
void forward(const In<T>& in, const Out<T>& out) {
  RowMajor<T> first = matrix(in.s_1), second = matrix(in.s_2);
  const Index l = in.w_q.extent(0);
  for (Index b = 0; b < l && in.direction == Direction::forward; ++b) {
    first += attended(in, b, second);
    second += fed_forward(in, b, first);
  }
  for (Index b = l; b-- > 0 && in.direction == Direction::inverse;) {
    second -= fed_forward(in, b, first);
    first -= attended(in, b, second);
  }
  matrix(out.t_1) = first;
  matrix(out.t_2) = second;
}

/// Streams in turn: step t changes stream t % 2 by a function of the other.
template <class T>
void stack(const In<T>& in, const Out<T>& out) {
  std::array<RowMajor<T>, 2> u{matrix(in.s_1), matrix(in.s_2)};
  const Index steps = 2 * in.w_q.extent(0);
  const bool back = in.direction == Direction::inverse;
  for (Index step = 0; step < steps; ++step) {
    const Index t = back ? steps - 1 - step : step;
    const auto& other = u[static_cast<std::size_t>((t + 1) % 2)];
    const RowMajor<T> change = t % 2 == 0 ? attended(in, t / 2, other) : fed_forward(in, t / 2, other);
    u[static_cast<std::size_t>(t % 2)] += (back ? T(-1) : T(1)) * change;
  }
  matrix(out.t_1) = u[0];
  matrix(out.t_2) = u[1];
}

template void forward(const In<float>&, const Out<float>&);
template void forward(const In<double>&, const Out<double>&);
template void stack(const In<float>&, const Out<float>&);
template void stack(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::content::reversible_residual
