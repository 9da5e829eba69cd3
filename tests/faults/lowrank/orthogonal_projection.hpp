// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/lowrank/orthogonal_projection.hpp"
#include "faults/fault.hpp"

namespace attest::faults::lowrank::orthogonal_projection {

namespace right = attest::reference::lowrank::orthogonal_projection;
using right::Block;
using right::by_gram_schmidt;
using right::In;
using right::Lengths;
using right::Out;

/// The equation with other lengths.
template <class F>
void with_lengths(const In& in, const Out& out, F&& length) {
  right::each_direction(in, out, by_gram_schmidt, length);
}

inline Matrix transposed(const Block& g) {
  return matrix_of(g.extent(1), g.extent(0), [&](Index a, Index k) { return g(k, a); });
}

inline void sign_fix_missing(const In& in, const Out& out) {
  right::each_direction(in, out, [](const Block& g) { return right::by_reflections(g).q; });
}

inline void negative_diagonal(const In& in, const Out& out) {
  with_lengths(in, out, [&](Index r) { return -right::length(in, r); });
}

inline void lengths_sqrt_d(In in, const Out& out) {
  in.lengths = Lengths::sqrt_d;
  right::gram_schmidt(in, out);
}

inline void lengths_chi(In in, const Out& out) {
  in.lengths = Lengths::chi;
  right::gram_schmidt(in, out);
}

inline void unit_lengths(const In& in, const Out& out) {
  with_lengths(in, out, [](Index) { return Number(1); });
}

inline void squared_lengths(const In& in, const Out& out) {
  with_lengths(in, out, [&](Index r) { return right::length(in, r) * right::length(in, r); });
}

inline void one_length_per_block(const In& in, const Out& out) {
  with_lengths(in, out, [&](Index r) { return right::length(in, r / in.g.extent(1) * in.g.extent(1)); });
}

inline void lengths_of_the_block(const In& in, const Out& out) {
  with_lengths(in, out, [&](Index r) {
    const Row column = in.g[r / in.g.extent(1)].column(r % in.g.extent(1));
    return in.lengths == Lengths::chi ? sqrt(dot(column, column)) : right::length(in, r);
  });
}

inline void block_repeated(const In& in, const Out& out) {
  right::each_direction(in, out, [&](const Block&) { return by_gram_schmidt(in.g[0]); });
}

inline void not_orthogonal(const In& in, const Out& out) {
  right::each_direction(in, out, [](const Block& g) {
    return matrix_of(g.extent(0), g.extent(1),
                     [&](Index a, Index k) { return g(a, k) / sqrt(dot(g.column(k), g.column(k))); });
  });
}

inline void rows_for_columns(const In& in, const Out& out) {
  right::each_direction(in, out, [](const Block& g) { return transposed(by_gram_schmidt(g).view()); });
}

inline void qr_of_transpose(const In& in, const Out& out) {
  right::each_direction(in, out, [](const Block& g) { return by_gram_schmidt(transposed(g).view()); });
}

inline void last_block_from_its_end(const In& in, const Out& out) {
  const Index d = in.g.extent(1), last = in.g.extent(0) - 1, skipped = in.g.extent(0) * d - in.h.extent(0);
  right::gram_schmidt(in, out);
  const Matrix q = by_gram_schmidt(in.g[last]);
  for (const Index r : wanted(out.w))
    if (r / d == last)
      for (Index a = 0; a < d; ++a) out.w(r, a) = right::length(in, r) * q(a, r % d + skipped);
}

inline void length_drift(const In& in, const Out& out, const Number& c) {
  with_lengths(in, out, [&](Index r) { return right::length(in, r) * (Number(1) + c); });
}

}  // namespace attest::faults::lowrank::orthogonal_projection
