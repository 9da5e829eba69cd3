// SPDX-License-Identifier: MIT
#include "attest/spec/lowrank/orthogonal_projection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/openmp/eigen.hpp"
#include "attest/openmp/tiles.hpp"

namespace attest::openmp::lowrank::orthogonal_projection {

using attest::spec::lowrank::orthogonal_projection::In;
using attest::spec::lowrank::orthogonal_projection::Lengths;
using attest::spec::lowrank::orthogonal_projection::Out;

/// orthogonal(block, diagonal) has the directions of a block as columns, and may set the diagonal of T.
template <class T, class F>
void run(const In<T>& in, const Out<T>& out, F&& orthogonal) {
  const Index d = in.g.extent(1), c = in.h.extent(0);
  each_tile(in.g.extent(0), [&](Index first, Index count) {
    for (Index b = first; b < first + count; ++b) {
      Column<T> diagonal = Column<T>::Ones(d);
      const RowMajor<T> q = orthogonal(RowMajor<T>(matrix(in.g[b])), diagonal);
      const Index regular = std::find(diagonal.begin(), diagonal.end(), T(0)) - diagonal.begin();  // C2
      for (Index r = b * d; r < std::min(c, (b + 1) * d); ++r) {                                   // C1
        const T length = in.lengths == Lengths::chi ? vector(in.h[r]).norm() : std::sqrt(static_cast<T>(d));
        const T factor = r % d < regular ? std::copysign(length, diagonal(r % d)) : std::numeric_limits<T>::quiet_NaN();
        vector(out.w[r]) = q.col(r % d) * factor;
      }
    }
  });
}

template <class T>
void householder(const In<T>& in, const Out<T>& out) {
  run(in, out, [](const RowMajor<T>& g, Column<T>& diagonal) {
    auto [q, triangle] = reflections(g);
    diagonal = triangle;
    return q;
  });
}

/// What is left of later columns loses its part along each direction as soon as that is known.
template <class T>
void gram_schmidt(const In<T>& in, const Out<T>& out) {
  run(in, out, [](RowMajor<T> q, Column<T>&) {
    for (Index k = 0; k < q.cols(); ++k) {
      q.col(k) /= q.col(k).norm();
      const Index later = q.cols() - k - 1;
      const Column<T> parts = q.rightCols(later).transpose() * q.col(k);
      q.rightCols(later) -= q.col(k) * parts.transpose();
    }
    return q;
  });
}

template <class T>
void givens(const In<T>& in, const Out<T>& out) {
  run(in, out, [](RowMajor<T> t, Column<T>& diagonal) {
    RowMajor<T> q = RowMajor<T>::Identity(t.rows(), t.rows());
    for (Index k = 0; k < t.cols(); ++k)
      for (Index a = k + 1; a < t.rows(); ++a) {
        Eigen::JacobiRotation<T> rotation;
        rotation.makeGivens(t(k, k), t(a, k));
        t.applyOnTheLeft(k, a, rotation.adjoint());
        q.applyOnTheRight(k, a, rotation);
      }
    diagonal = t.diagonal();
    return q;
  });
}

template void householder(const In<float>&, const Out<float>&);
template void householder(const In<double>&, const Out<double>&);
template void gram_schmidt(const In<float>&, const Out<float>&);
template void gram_schmidt(const In<double>&, const Out<double>&);
template void givens(const In<float>&, const Out<float>&);
template void givens(const In<double>&, const Out<double>&);

}  // namespace attest::openmp::lowrank::orthogonal_projection
