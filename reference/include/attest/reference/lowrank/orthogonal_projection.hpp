// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/lowrank/orthogonal_projection.hpp"

namespace attest::reference::lowrank::orthogonal_projection {

using In = attest::spec::lowrank::orthogonal_projection::In<Number>;
using Out = attest::spec::lowrank::orthogonal_projection::Out<Number>;
using attest::spec::lowrank::orthogonal_projection::Lengths;
using Block = View<const Number, 2>;

/// |h_r|, or sqrt(d)
inline Number length(const In& in, Index r) {
  const Row h = in.h[r];
  return stage("lengths", sqrt(in.lengths == Lengths::chi ? dot(h, h) : Number(h.extent(0))));
}

/// w_r = length(r) times column r mod d of orthogonal(block r / d)
template <class Q, class L>
void each_direction(const In& in, const Out& out, Q&& orthogonal, L&& length) {
  const Index d = in.g.extent(1);
  Matrix q(0, 0);
  Index made = -1;
  for (const Index r : wanted(out.w)) {
    if (made != r / d) q = stage("directions", orthogonal(in.g[r / d])), made = r / d;  // C1
    const Number factor = length(r);
    for (Index a = 0; a < d; ++a) out.w(r, a) = factor * q(a, r % d);
  }
}

template <class Q>
void each_direction(const In& in, const Out& out, Q&& orthogonal) {
  each_direction(in, out, orthogonal, [&](Index r) { return length(in, r); });
}

inline Matrix copied(const Block& g) { return Matrix(g, g.extent(0), g.extent(1)); }

/// Q of g = Q T: q_k is column k less its parts along q_0 .. q_(k-1), over its length.   C2
inline Matrix by_gram_schmidt(const Block& g) {
  const Index d = g.extent(0);
  Matrix q(d, d);
  const View<const Number, 2> found = std::as_const(q).view();
  for (Index k = 0; k < d; ++k) {
    const auto parts = stage("projections", product(g.column(k), found.columns(0, k)));
    const auto along = product(found.columns(0, k), parts);
    const auto rest = stage("orthogonal parts", tabulate(d, [&](Index a) { return g(a, k) - along(a); }));
    const Number size = sqrt(dot(rest, rest));
    for (Index a = 0; a < d; ++a) q(a, k) = rest(a) / size;
  }
  return q;
}

/// Orthogonal q and the diagonal of T, of either sign.
struct Decomposition {
  Matrix q;
  Vector diagonal;

  /// Columns whose entry of the diagonal is negative are negated; one whose entry is 0 is none.   C2
  Matrix with_signs() && {
    for (Index k = 0; k < q.extent(1); ++k) {
      const bool none = is_zero(diagonal(k));
      if (!none && positive(diagonal(k))) continue;
      for (Index a = 0; a < q.extent(0); ++a) q(a, k) = none ? not_a_number() : -q(a, k);
    }
    return std::move(q);
  }
};

/// Each reflection takes a column to -sign(its first entry) times its length, so that nothing cancels; the last column
/// has one entry and stays.
inline Decomposition by_reflections(const Block& g) {
  const Index d = g.extent(0);
  Matrix t = copied(g), q(d, d);
  for (Index a = 0; a < d; ++a) q(a, a) = 1;
  Vector diagonal(d);
  for (Index k = 0; k < d; ++k) {
    if (k == d - 1) {
      diagonal(k) = t(k, k);
      break;
    }
    const Row column = std::as_const(t).column(k).rows(k, d - k);
    const Number size = sqrt(dot(column, column));
    diagonal(k) = positive(t(k, k)) ? -size : size;
    Vector v(d - k);
    for (Index a = 0; a < d - k; ++a) v(a) = t(k + a, k);
    v(0) = v(0) - diagonal(k);
    const Number half = dot(v, v) / 2;
    for (Index j = k; j < d; ++j) {  // t <- t - v (v . t) / half, from the left
      const Number part = dot(v, std::as_const(t).column(j).rows(k, d - k)) / half;
      for (Index a = 0; a < d - k; ++a) t(k + a, j) = t(k + a, j) - part * v(a);
    }
    for (Index a = 0; a < d; ++a) {  // q <- q - (q . v) v / half, from the right
      const Number part = dot(std::as_const(q)[a].rows(k, d - k), v) / half;
      for (Index j = 0; j < d - k; ++j) q(a, k + j) = q(a, k + j) - part * v(j);
    }
  }
  return {std::move(q), std::move(diagonal)};
}

/// Rotations of rows k and a make the entry (a, k) zero and the one on the diagonal positive.
inline Decomposition by_rotations(const Block& g) {
  const Index d = g.extent(0);
  Matrix t = copied(g), q(d, d);
  for (Index a = 0; a < d; ++a) q(a, a) = 1;
  Vector diagonal(d);
  for (Index k = 0; k < d; ++k) {
    for (Index a = k + 1; a < d; ++a) {
      const Number x = t(k, k), y = t(a, k), size = sqrt(x * x + y * y);
      if (approximate(size) == 0) continue;
      const Number c = x / size, s = y / size;
      for (Index j = k; j < d; ++j) {
        const Number upper = t(k, j), lower = t(a, j);
        t(k, j) = c * upper + s * lower, t(a, j) = c * lower - s * upper;
      }
      for (Index j = 0; j < d; ++j) {
        const Number left = q(j, k), right = q(j, a);
        q(j, k) = c * left + s * right, q(j, a) = c * right - s * left;
      }
    }
    diagonal(k) = t(k, k);
  }
  return {std::move(q), std::move(diagonal)};
}

/// [Choromanski et al. 2021, section 2.4]
inline void gram_schmidt(const In& in, const Out& out) { each_direction(in, out, by_gram_schmidt); }

inline void householder(const In& in, const Out& out) {
  each_direction(in, out, [](const Block& g) { return by_reflections(g).with_signs(); });
}

inline void givens(const In& in, const Out& out) {
  each_direction(in, out, [](const Block& g) { return by_rotations(g).with_signs(); });
}

}  // namespace attest::reference::lowrank::orthogonal_projection
