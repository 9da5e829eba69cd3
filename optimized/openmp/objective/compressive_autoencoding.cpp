// SPDX-License-Identifier: MIT
#include "attest/spec/objective/compressive_autoencoding.hpp"

#include <cmath>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::objective::compressive_autoencoding {

using attest::spec::objective::compressive_autoencoding::In;
using attest::spec::objective::compressive_autoencoding::Norm;
using attest::spec::objective::compressive_autoencoding::Out;

/// One product for all places of a block: C [W_0 W_1 ..] beside O with the rows of a block side by side.
template <class T>
void direct(const In<T>& in, const Out<T>& out) {
  const Index blocks = in.old.extent(0), places = in.old.extent(1), width = in.old.extent(2);
  RowMajor<T> w(width, places * width);
  for (Index u = 0; u < places; ++u) w.middleCols(u * width, width) = matrix(in.w[u]);
  Column<T> squares(blocks);
  each_tile(blocks, [&](Index first, Index count) {
    RowMajor<T> off = matrix(in.compressed.rows(first, count)) * w;
    for (Index j = 0; j < count; ++j)
      for (Index u = 0; u < places; ++u)
        off.row(j).segment(u * width, width) -= vector(in.old[first + j][u]).transpose();
    squares.segment(first, count) = off.rowwise().squaredNorm();
  });
  const T total = squares.sum();
  out.loss() = in.norm == Norm::frobenius ? std::sqrt(total)
               : in.norm == Norm::squared ? total
                                          : total / static_cast<T>(blocks * places * width);
}

template void direct(const In<float>&, const Out<float>&);
template void direct(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::objective::compressive_autoencoding
