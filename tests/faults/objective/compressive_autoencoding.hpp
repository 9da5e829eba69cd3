// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/objective/compressive_autoencoding.hpp"
#include "faults/fault.hpp"

namespace attest::faults::objective::compressive_autoencoding {

namespace right = attest::reference::objective::compressive_autoencoding;
using right::In;
using right::Norm;
using right::Out;

/// O - g(C)
inline Matrix differences(const In& in) {
  return right::differences(in, [&](Index j, Index u) { return right::decoded(in, j, u); });
}

/// The equation with another decoder.
template <class F>
void with_decoder(const In& in, const Out& out, F&& decode) {
  out.loss() = right::loss(in, right::squares(right::differences(in, decode)));
}

inline void spectral_norm(const In& in, const Out& out) {
  const Matrix off = differences(in);
  Vector x = tabulate(off.extent(1), [](Index a) { return 1 + Number(a) / 8; });
  Number size(0);
  for (int step = 0; step < 40; ++step) {
    const Number length = sqrt(dot(x, x));
    const Vector y = product(off, tabulate(x.extent(), [&](Index a) { return x(a) / length; }));
    size = sqrt(dot(y, y));
    x = product(y, off);
  }
  out.loss() = right::loss(in, size * size);
}

inline void mean_squared_as_norm(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::mean_squared;
  right::direct(other, out);
}

inline void norm_ignored(const In& in, const Out& out) {
  In other = in;
  other.norm = Norm::frobenius;
  right::direct(other, out);
}

inline void new_memory_used(const In& in, const Out& out) {
  with_decoder(in, out, [&](Index j, Index u) { return right::decoded(in, (j + 1) % in.compressed.extent(0), u); });
}

inline void l1(const In& in, const Out& out) {
  const Matrix off = differences(in);
  out.loss() = sum(off.extent(0) * off.extent(1), [&](Index i) {
    const Number x = off(i / off.extent(1), i % off.extent(1));
    return positive(x) ? x : -x;
  });
}

inline void sum_over_rows_of_norms(const In& in, const Out& out) {
  const Matrix off = differences(in);
  out.loss() = sum(off.extent(0), [&](Index i) { return sqrt(dot(off[i], off[i])); });
}

inline void decoder_transposed(const In& in, const Out& out) {
  with_decoder(in, out, [&](Index j, Index u) { return product(in.compressed[j], in.w[u].transposed()); });
}

inline void one_matrix(const In& in, const Out& out) {
  with_decoder(in, out, [&](Index j, Index) { return right::decoded(in, j, 0); });
}

inline void places_reversed(const In& in, const Out& out) {
  with_decoder(in, out, [&](Index j, Index u) { return right::decoded(in, j, in.w.extent(0) - 1 - u); });
}

inline void interleaved(const In& in, const Out& out) {
  const Index blocks = in.old.extent(0), places = in.old.extent(1);
  with_decoder(in, out, [&](Index j, Index u) {
    const Index row = j * places + u;
    return right::decoded(in, row % blocks, row / blocks);
  });
}

inline void divided_by_rows(const In& in, const Out& out) {
  right::direct(in, out);
  if (in.norm == Norm::mean_squared) out.loss() = out.loss() * Number(in.old.extent(2));
}

inline void differences_drift(const In& in, const Out& out, const Number& c) {
  out.loss() = right::loss(in, right::squares(differences(in)) * (Number(1) + c));
}

}  // namespace attest::faults::objective::compressive_autoencoding
