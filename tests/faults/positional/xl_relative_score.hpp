// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/xl_relative_score.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::xl_relative_score {

namespace right = attest::reference::positional::xl_relative_score;
using right::In;
using right::Out;
using right::Projections;

/// The equation with r_o of other offsets: behind where they are not negative, else ahead or counted from the end.
template <class T, class O>
void with_offset(const In<T>& in, const Out<T>& out, O&& offset) {
  const Projections<T> p(in);
  const Matrix<T> q_u = right::biased(p.q, in.u), q_v = right::biased(p.q, in.v);
  const Index s = in.x_k.extent(0);
  right::each_pair(in, out, [&](Index i, Index j) {
    const Index o = offset(i, j);
    const auto r = o >= 0 || !in.r_ahead ? p.behind[(o + s) % s] : p.ahead[-o % s];
    return T(dot<T>(q_u[i], p.k[j]) + dot<T>(q_v[i], r));
  });
}

template <class T>
Index offset(const In<T>& in, Index i, Index j) { return i + (in.x_k.extent(0) - in.x_q.extent(0)) - j; }

template <class T>
void offset_sign(const In<T>& in, const Out<T>& out) {
  with_offset(in, out, [&](Index i, Index j) { return -offset(in, i, j); });
}

template <class T>
void memory_offset_missing(const In<T>& in, const Out<T>& out) {
  with_offset(in, out, [](Index i, Index j) { return i - j; });
}

template <class T>
void shift_off_by_one(const In<T>& in, const Out<T>& out) {
  with_offset(in, out, [&](Index i, Index j) { return offset(in, i, j) + 1; });
}

template <class T>
void distance_absolute(const In<T>& in, const Out<T>& out) {
  with_offset(in, out, [&](Index i, Index j) { return std::abs(offset(in, i, j)); });
}

template <class T>
void shift_keeps_wrong_end(const In<T>& in, const Out<T>& out) {
  const Projections<T> p(in);
  const Matrix<T> q_u = right::biased(p.q, in.u), b = right::by_offset(in, p);
  const Index width = b.extent(1);
  right::each_pair(in, out, [&](Index i, Index j) {
    const Index at = i * width + j;  // of the numbers with a column of zeros in front, the first kept
    const T position = at % (width + 1) == 0 ? T(0) : b(at / (width + 1), at % (width + 1) - 1);
    return T(dot<T>(q_u[i], p.k[j]) + position);
  });
}

template <class T>
void garbage_ahead(const In<T>& in, const Out<T>& out) {
  const Projections<T> p(in);
  const Matrix<T> q_u = right::biased(p.q, in.u), position = reference::positional::shaw_relative::skewed(right::by_offset(in, p), in.x_k.extent(0));
  const T scale = right::scale_of(in);
  for (Index i = 0; i < out.a.extent(0); ++i)
    for (Index j = 0; j < out.a.extent(1); ++j) out.a(i, j) = scale * (dot<T>(q_u[i], p.k[j]) + position(i, j));
}

template <class T>
void ahead_hidden(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.r_ahead = {};
  right::grouped(other, out);
}

template <class T>
void u_v_swapped(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.u = in.v, other.v = in.u;
  right::grouped(other, out);
}

template <class T>
void w_e_for_positions(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.w_r = in.w_e;
  right::grouped(other, out);
}

template <class T>
void global_bias_missing(const In<T>& in, const Out<T>& out) {
  const Vector<T> none(in.u.extent(0));
  In<T> other = in;
  other.u = none.view(), other.v = none.view();
  right::grouped(other, out);
}

/// The equation with content and position times these numbers.
template <class T>
void with_parts(const In<T>& in, const Out<T>& out, const T& content, const T& position) {
  const Projections<T> p(in);
  const Matrix<T> q_u = right::biased(p.q, in.u), q_v = right::biased(p.q, in.v);
  right::each_pair(in, out, [&](Index i, Index j) {
    return T(content * dot<T>(q_u[i], p.k[j]) + position * dot<T>(q_v[i], p.distance(p.offset(i, j))));
  });
}

template <class T>
void position_terms_missing(const In<T>& in, const Out<T>& out) { with_parts(in, out, T(1), T(0)); }

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) { with_parts(in, out, T(T(1) + c), T(T(1) + c)); }

template <class T>
void scale_content_only(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = 1;
  with_parts(other, out, right::scale_of(in), T(1));
}

template <class T>
void scaled_queries(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = 1;
  with_parts(other, out, right::scale_of(in), right::scale_of(in));
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (!in.scale) other.scale = 1;
  right::grouped(other, out);
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = {};
  right::grouped(other, out);
}

template <class T>
void weights_transposed(const In<T>& in, const Out<T>& out) {
  const auto stored = [](View<const T, 2> w) {
    return matrix_of<T>(w.extent(0), w.extent(1), [&](Index a, Index e) {
      const Index flat = e * w.extent(0) + a;
      return T(w(flat / w.extent(1), flat % w.extent(1)));
    });
  };
  const Matrix<T> w_q = stored(in.w_q), w_e = stored(in.w_e), w_r = stored(in.w_r);
  In<T> other = in;
  other.w_q = w_q.view(), other.w_e = w_e.view(), other.w_r = w_r.view();
  right::grouped(other, out);
}

}  // namespace attest::faults::positional::xl_relative_score
