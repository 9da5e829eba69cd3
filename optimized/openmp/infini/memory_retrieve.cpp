// SPDX-License-Identifier: MIT
#include "attest/spec/infini/memory_retrieve.hpp"

#include "attest/openmp/infini.hpp"

namespace attest::openmp::infini::memory_retrieve {

using attest::spec::infini::memory_retrieve::In;
using attest::spec::infini::memory_retrieve::Out;

/// Query by query: its features walk once down the memory's rows and collect numerator and denominator together.
template <class T>
void rows(const In<T>& in, const Out<T>& out) {
  const RowMajor<T> phi = features(in.feature_map, in.q), memory = matrix(in.memory);
  const Column<T> z = vector(in.z);
  each_tile(phi.rows(), [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      Eigen::Matrix<T, 1, Eigen::Dynamic> numerator = Eigen::Matrix<T, 1, Eigen::Dynamic>::Zero(memory.cols());
      T below = 0;
      for (Index a = 0; a < z.size(); ++a) {
        numerator += phi(i, a) * memory.row(a);
        below += phi(i, a) * z(a);
      }
      const Column<T> denominator = Column<T>::Constant(1, below + static_cast<T>(in.eps));
      divide_rows<T>(numerator, denominator, in.zero_denominator);  // C1
      vector(out.a[i]) = numerator.transpose();
    }
  });
}

/// [memory | z] side by side: one matrix product per tile of queries gives numerators and denominators.
template <class T>
void augmented(const In<T>& in, const Out<T>& out) {
  const Index d = in.memory.extent(0), m = in.memory.extent(1);
  const RowMajor<T> phi = features(in.feature_map, in.q);
  RowMajor<T> both(d, m + 1);
  both.leftCols(m) = matrix(in.memory);
  both.col(m) = vector(in.z);
  each_tile(phi.rows(), [&](Index first, Index count) {
    RowMajor<T> W = phi.middleRows(first, count) * both;
    const Column<T> denominator = W.col(m).array() + static_cast<T>(in.eps);
    divide_rows<T>(W.leftCols(m), denominator, in.zero_denominator);
    matrix(out.a).middleRows(first, count) = W.leftCols(m);
  });
}

template void rows(const In<float>&, const Out<float>&);
template void rows(const In<double>&, const Out<double>&);
template void augmented(const In<float>&, const Out<float>&);
template void augmented(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::infini::memory_retrieve
