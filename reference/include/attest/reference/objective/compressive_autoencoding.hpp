// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/objective/compressive_autoencoding.hpp"

namespace attest::reference::objective::compressive_autoencoding {

using In = attest::spec::objective::compressive_autoencoding::In<Number>;
using Out = attest::spec::objective::compressive_autoencoding::Out<Number>;
using attest::spec::objective::compressive_autoencoding::Norm;

/// C_j W_u, what is decoded for place u of block j.
inline Vector decoded(const In& in, Index j, Index u) { return stage("decoded", product(in.compressed[j], in.w[u])); }

/// O - g(C), a row for each of O: `decode(j, u)` being what stands there.
template <class F>
Matrix differences(const In& in, F&& decode) {
  const auto [blocks, places, width] = in.old.extents();
  Matrix off(blocks * places, width);
  for (Index j = 0; j < blocks; ++j)
    for (Index u = 0; u < places; ++u) {
      const Vector row = decode(j, u);
      for (Index a = 0; a < width; ++a) off(j * places + u, a) = stage("differences", in.old(j, u, a) - row(a));
    }
  return off;
}

/// L from the sum of the squares of all elements.
inline Number loss(const In& in, const Number& squares) {
  if (in.norm == Norm::frobenius) return sqrt(stage("sum of squares", squares));
  const auto [blocks, places, width] = in.old.extents();
  return in.norm == Norm::squared ? squares : stage("sum of squares", squares) / Number(blocks * places * width);
}

/// The sum of the squares of all elements.
inline Number squares(const Matrix& off) {
  const Index width = off.extent(1);
  const auto all = tabulate(off.extent(0) * width, [&](Index i) { return off(i / width, i % width); });
  return dot(all, all);
}

/// L = ||O - g(C)||_F      [Rae et al. 2019, section 3.2]
inline void direct(const In& in, const Out& out) {
  out.loss() = loss(in, squares(differences(in, [&](Index j, Index u) { return decoded(in, j, u); })));
}

/// |o|^2 - 2 o . g + |g|^2 for each row
inline void expanded(const In& in, const Out& out) {
  const Index places = in.old.extent(1);
  out.loss() = loss(in, sum(in.old.extent(0) * places, [&](Index i) {
                      const Row o = in.old[i / places][i % places];
                      const Vector g = decoded(in, i / places, i % places);
                      return dot(o, o) - 2 * dot(o, g) + dot(g, g);
                    }));
}

}  // namespace attest::reference::objective::compressive_autoencoding
