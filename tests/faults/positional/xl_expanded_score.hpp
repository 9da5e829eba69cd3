// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/xl_expanded_score.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::xl_expanded_score {

namespace right = attest::reference::positional::xl_expanded_score;
using right::In;
using right::Out;

/// The terms times these numbers: content-content, content-position, position-content, position-position.
template <class T>
void with_terms(const In<T>& in, const Out<T>& out, int xx, int xp, int px, int pp) {
  const Matrix<T> x_q = right::projected(in.x_q, in.w_q), p_q = right::projected(in.p_q, in.w_q);
  const Matrix<T> x_k = right::projected(in.x_k, in.w_k), p_k = right::projected(in.p_k, in.w_k);
  right::each_pair(in, out, [&](Index i, Index j) {
    return T(T(xx) * dot<T>(x_q[i], x_k[j]) + T(xp) * dot<T>(x_q[i], p_k[j]) + T(px) * dot<T>(p_q[i], x_k[j]) + T(pp) * dot<T>(p_q[i], p_k[j]));
  });
}

template <class T>
void cross_term_missing(const In<T>& in, const Out<T>& out) { with_terms(in, out, 1, 1, 0, 1); }

template <class T>
void duplicate_term(const In<T>& in, const Out<T>& out) { with_terms(in, out, 1, 2, 0, 1); }

template <class T>
void position_term_missing(const In<T>& in, const Out<T>& out) { with_terms(in, out, 1, 1, 1, 0); }

template <class T>
void content_only(const In<T>& in, const Out<T>& out) { with_terms(in, out, 1, 0, 0, 0); }

/// The equation with other positions.
template <class T, class Q, class K>
void with_positions(const In<T>& in, const Out<T>& out, Q&& p_q, K&& p_k) {
  const auto queries = matrix_of<T>(in.p_q.extent(0), in.p_q.extent(1), p_q), keys = matrix_of<T>(in.p_k.extent(0), in.p_k.extent(1), p_k);
  In<T> other = in;
  other.p_q = read_only(queries);
  other.p_k = read_only(keys);
  right::factored(other, out);
}

template <class T>
void terms_swapped(const In<T>& in, const Out<T>& out) {
  with_positions(in, out, [&](Index i, Index a) { return T(in.p_k(i % in.p_k.extent(0), a)); },
                 [&](Index j, Index a) { return T(in.p_q(j % in.p_q.extent(0), a)); });
}

template <class T>
void position_drift(const In<T>& in, const Out<T>& out, const T& c) {
  with_positions(in, out, [&](Index i, Index a) { return T(in.p_q(i, a) * (T(1) + c)); }, [&](Index j, Index a) { return T(in.p_k(j, a) * (T(1) + c)); });
}

template <class T>
void position_after_projection(const In<T>& in, const Out<T>& out) {
  const auto after = [](View<const T, 2> x, View<const T, 2> w, View<const T, 2> p) {
    const Matrix<T> y = right::projected(x, w);
    return matrix_of<T>(y.extent(0), y.extent(1), [&](Index i, Index a) { return T(y(i, a) + p(i, a % p.extent(1))); });
  };
  const Matrix<T> q = after(in.x_q, in.w_q, in.p_q), k = after(in.x_k, in.w_k, in.p_k);
  right::each_pair(in, out, [&](Index i, Index j) { return dot<T>(q[i], k[j]); });
}

/// The equation with other projections.
template <class T, class Q, class K>
void with_weights(const In<T>& in, const Out<T>& out, Q&& w_q, K&& w_k) {
  const auto queries = matrix_of<T>(in.w_q.extent(0), in.w_q.extent(1), w_q), keys = matrix_of<T>(in.w_k.extent(0), in.w_k.extent(1), w_k);
  In<T> other = in;
  other.w_q = read_only(queries);
  other.w_k = read_only(keys);
  right::factored(other, out);
}

template <class T>
void projections_swapped(const In<T>& in, const Out<T>& out) {
  with_weights(in, out, [&](Index a, Index e) { return T(in.w_k(a, e)); }, [&](Index a, Index e) { return T(in.w_q(a, e)); });
}

template <class T>
void weights_transposed(const In<T>& in, const Out<T>& out) {
  const auto stored = [](View<const T, 2> w) {
    return [w](Index a, Index e) {
      const Index flat = e * w.extent(0) + a;
      return T(w(flat / w.extent(1), flat % w.extent(1)));
    };
  };
  with_weights(in, out, stored(in.w_q), stored(in.w_k));
}

template <class T>
void last_feature_dropped(const In<T>& in, const Out<T>& out) {
  const Index f = in.w_q.extent(0), even = f - f % 2;
  with_weights(in, out, [&](Index a, Index e) { return a < even ? T(in.w_q(a, e)) : T(0); }, [&](Index a, Index e) { return T(in.w_k(a, e)); });
}

template <class T>
void scaled(const In<T>& in, const Out<T>& out) {
  right::factored(in, out);
  const T root = sqrt(T(in.w_q.extent(1)));
  right::each_pair(in, out, [&](Index i, Index j) { return T(out.a(i, j) / root); });
}

}  // namespace attest::faults::positional::xl_expanded_score
