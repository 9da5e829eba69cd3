// SPDX-License-Identifier: MIT
#include "attest/spec/positional/learned.hpp"

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::positional::learned {

using attest::spec::positional::learned::In;
using attest::spec::positional::learned::Out;

/// The rows of the table lie side by side: a block of them is added to a block of tokens.
template <class T>
void gather(const In<T>& in, const Out<T>& out) {
  each_tile(in.x.extent(0), [&](Index first, Index count) {
    matrix(out.y.rows(first, count)) = matrix(in.x.rows(first, count)) + matrix(in.table.rows(in.start + first, count));
  });
}

/// A product with a matrix of zeros and ones.
template <class T>
void one_hot(const In<T>& in, const Out<T>& out) {
  const Index n = in.x.extent(0);
  RowMajor<T> e = RowMajor<T>::Zero(n, in.table.extent(0));
  e.middleCols(in.start, n).setIdentity();
  matrix(out.y) = matrix(in.x) + e * matrix(in.table);
}

template void gather(const In<float>&, const Out<float>&);
template void gather(const In<double>&, const Out<double>&);
template void one_hot(const In<float>&, const Out<float>&);
template void one_hot(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::positional::learned
