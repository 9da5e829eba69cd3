// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/xl_expanded_score.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::xl_expanded_score {

namespace right = attest::reference::positional::xl_expanded_score;
using right::In;
using right::Out;

/// The terms times these numbers: content-content, content-position, position-content, position-position.
inline void with_terms(const In& in, const Out& out, int xx, int xp, int px, int pp) {
  const Matrix x_q = right::projected(in.x_q, in.w_q), p_q = right::projected(in.p_q, in.w_q);
  const Matrix x_k = right::projected(in.x_k, in.w_k), p_k = right::projected(in.p_k, in.w_k);
  right::each_pair(in, out, [&](Index i, Index j) {
    return Number(xx) * dot(x_q[i], x_k[j]) + Number(xp) * dot(x_q[i], p_k[j]) + Number(px) * dot(p_q[i], x_k[j]) +
           Number(pp) * dot(p_q[i], p_k[j]);
  });
}

inline void cross_term_missing(const In& in, const Out& out) { with_terms(in, out, 1, 1, 0, 1); }

inline void duplicate_term(const In& in, const Out& out) { with_terms(in, out, 1, 2, 0, 1); }

inline void position_term_missing(const In& in, const Out& out) { with_terms(in, out, 1, 1, 1, 0); }

inline void content_only(const In& in, const Out& out) { with_terms(in, out, 1, 0, 0, 0); }

/// The equation with other positions.
template <class Q, class K>
void with_positions(const In& in, const Out& out, Q&& p_q, K&& p_k) {
  const auto queries = matrix_of(in.p_q.extent(0), in.p_q.extent(1), p_q),
             keys = matrix_of(in.p_k.extent(0), in.p_k.extent(1), p_k);
  In other = in;
  other.p_q = read_only(queries);
  other.p_k = read_only(keys);
  right::factored(other, out);
}

inline void terms_swapped(const In& in, const Out& out) {
  with_positions(
      in, out, [&](Index i, Index a) { return in.p_k(i % in.p_k.extent(0), a); },
      [&](Index j, Index a) { return in.p_q(j % in.p_q.extent(0), a); });
}

inline void position_drift(const In& in, const Out& out, const Number& c) {
  with_positions(
      in, out, [&](Index i, Index a) { return in.p_q(i, a) * (Number(1) + c); },
      [&](Index j, Index a) { return in.p_k(j, a) * (Number(1) + c); });
}

inline void position_after_projection(const In& in, const Out& out) {
  const auto after = [](View<const Number, 2> x, View<const Number, 2> w, View<const Number, 2> p) {
    const Matrix y = right::projected(x, w);
    return matrix_of(y.extent(0), y.extent(1), [&](Index i, Index a) { return y(i, a) + p(i, a % p.extent(1)); });
  };
  const Matrix q = after(in.x_q, in.w_q, in.p_q), k = after(in.x_k, in.w_k, in.p_k);
  right::each_pair(in, out, [&](Index i, Index j) { return dot(q[i], k[j]); });
}

/// The equation with other projections.
template <class Q, class K>
void with_weights(const In& in, const Out& out, Q&& w_q, K&& w_k) {
  const auto queries = matrix_of(in.w_q.extent(0), in.w_q.extent(1), w_q),
             keys = matrix_of(in.w_k.extent(0), in.w_k.extent(1), w_k);
  In other = in;
  other.w_q = read_only(queries);
  other.w_k = read_only(keys);
  right::factored(other, out);
}

inline void projections_swapped(const In& in, const Out& out) {
  with_weights(in, out, [&](Index a, Index e) { return in.w_k(a, e); }, [&](Index a, Index e) { return in.w_q(a, e); });
}

inline void weights_transposed(const In& in, const Out& out) {
  const auto stored = [](View<const Number, 2> w) {
    return [w](Index a, Index e) {
      const Index flat = e * w.extent(0) + a;
      return w(flat / w.extent(1), flat % w.extent(1));
    };
  };
  with_weights(in, out, stored(in.w_q), stored(in.w_k));
}

inline void last_feature_dropped(const In& in, const Out& out) {
  const Index f = in.w_q.extent(0), even = f - f % 2;
  with_weights(
      in, out, [&](Index a, Index e) { return a < even ? in.w_q(a, e) : Number(0); },
      [&](Index a, Index e) { return in.w_k(a, e); });
}

inline void scaled(const In& in, const Out& out) {
  right::factored(in, out);
  const Number root = sqrt(Number(in.w_q.extent(1)));
  right::each_pair(in, out, [&](Index i, Index j) { return out.a(i, j) / root; });
}

}  // namespace attest::faults::positional::xl_expanded_score
