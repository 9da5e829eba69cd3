// SPDX-License-Identifier: MIT
#include "attest/spec/objective/depth_loss.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::objective::depth_loss {

using attest::spec::objective::depth_loss::In;
using attest::spec::objective::depth_loss::Out;

/// Sums of layers and of tokens are shared among the threads, each in the order of its memory.
template <class T>
void log_domain(const In<T>& in, const Out<T>& out) {
  const Index layers = in.log_p.extent(0), tokens = in.log_p.extent(1);
  Column<T> likelihood(layers), exits(tokens);
  each_tile(layers, [&](Index first, Index count) {
    likelihood.segment(first, count) = matrix(in.log_p.rows(first, count)).rowwise().sum();
  });
  each_tile(tokens, [&](Index first, Index count) {
    exits.segment(first, count) =
        (matrix(in.q_star.rows(first, count)).array() * matrix(in.q.rows(first, count)).array().log()).rowwise().sum();
  });
  const auto omega = vector(in.omega);
  out.l_dec() = -omega.dot(likelihood) / omega.sum();
  out.l_exit() = -exits.sum();
  out.loss() = out.l_dec() + static_cast<T>(in.alpha) * out.l_exit();
}

template void log_domain(const In<float>&, const Out<float>&);
template void log_domain(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::depth_loss
