// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/xl_relative_score.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::xl_relative_score {

namespace right = attest::reference::positional::xl_relative_score;
using right::In;
using right::Out;
using right::Projections;

/// The equation with r_o of other offsets: behind where they are not negative, else ahead or counted from the end.
template <class O>
void with_offset(const In& in, const Out& out, O&& offset) {
  const Projections p(in);
  const Matrix q_u = right::biased(p.q, in.u), q_v = right::biased(p.q, in.v);
  const Index s = in.x_k.extent(0);
  right::each_pair(in, out, [&](Index i, Index j) {
    const Index o = offset(i, j);
    const auto r = o >= 0 || !in.r_ahead ? p.behind[(o + s) % s] : p.ahead[-o % s];
    return dot(q_u[i], p.k[j]) + dot(q_v[i], r);
  });
}

inline Index offset(const In& in, Index i, Index j) { return i + (in.x_k.extent(0) - in.x_q.extent(0)) - j; }

inline void offset_sign(const In& in, const Out& out) {
  with_offset(in, out, [&](Index i, Index j) { return -offset(in, i, j); });
}

inline void memory_offset_missing(const In& in, const Out& out) {
  with_offset(in, out, [](Index i, Index j) { return i - j; });
}

inline void shift_off_by_one(const In& in, const Out& out) {
  with_offset(in, out, [&](Index i, Index j) { return offset(in, i, j) + 1; });
}

inline void distance_absolute(const In& in, const Out& out) {
  with_offset(in, out, [&](Index i, Index j) { return std::abs(offset(in, i, j)); });
}

inline void shift_keeps_wrong_end(const In& in, const Out& out) {
  const Projections p(in);
  const Matrix q_u = right::biased(p.q, in.u), b = right::by_offset(in, p);
  const Index width = b.extent(1);
  right::each_pair(in, out, [&](Index i, Index j) {
    const Index at = i * width + j;  // of the numbers with a column of zeros in front, the first kept
    const Number position = at % (width + 1) == 0 ? Number(0) : b(at / (width + 1), at % (width + 1) - 1);
    return dot(q_u[i], p.k[j]) + position;
  });
}

inline void garbage_ahead(const In& in, const Out& out) {
  const Projections p(in);
  const Matrix q_u = right::biased(p.q, in.u),
               position = reference::positional::shaw_relative::skewed(right::by_offset(in, p), in.x_k.extent(0));
  const Number scale = right::scale_of(in);
  for (Index i = 0; i < out.a.extent(0); ++i)
    for (Index j = 0; j < out.a.extent(1); ++j) out.a(i, j) = scale * (dot(q_u[i], p.k[j]) + position(i, j));
}

inline void ahead_hidden(const In& in, const Out& out) {
  In other = in;
  other.r_ahead = {};
  right::grouped(other, out);
}

inline void u_v_swapped(const In& in, const Out& out) {
  In other = in;
  other.u = in.v, other.v = in.u;
  right::grouped(other, out);
}

inline void w_e_for_positions(const In& in, const Out& out) {
  In other = in;
  other.w_r = in.w_e;
  right::grouped(other, out);
}

inline void global_bias_missing(const In& in, const Out& out) {
  const Vector none(in.u.extent(0));
  In other = in;
  other.u = none.view(), other.v = none.view();
  right::grouped(other, out);
}

/// The equation with content and position times these numbers.
inline void with_parts(const In& in, const Out& out, const Number& content, const Number& position) {
  const Projections p(in);
  const Matrix q_u = right::biased(p.q, in.u), q_v = right::biased(p.q, in.v);
  right::each_pair(in, out, [&](Index i, Index j) {
    return content * dot(q_u[i], p.k[j]) + position * dot(q_v[i], p.distance(p.offset(i, j)));
  });
}

inline void position_terms_missing(const In& in, const Out& out) { with_parts(in, out, Number(1), Number(0)); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_parts(in, out, Number(1) + c, Number(1) + c);
}

inline void scale_content_only(const In& in, const Out& out) {
  In other = in;
  other.scale = 1;
  with_parts(other, out, right::scale_of(in), Number(1));
}

inline void scaled_queries(const In& in, const Out& out) {
  In other = in;
  other.scale = 1;
  with_parts(other, out, right::scale_of(in), right::scale_of(in));
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!in.scale) other.scale = 1;
  right::grouped(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::grouped(other, out);
}

inline void weights_transposed(const In& in, const Out& out) {
  const auto stored = [](View<const Number, 2> w) {
    return matrix_of(w.extent(0), w.extent(1), [&](Index a, Index e) {
      const Index flat = e * w.extent(0) + a;
      return w(flat / w.extent(1), flat % w.extent(1));
    });
  };
  const Matrix w_q = stored(in.w_q), w_e = stored(in.w_e), w_r = stored(in.w_r);
  In other = in;
  other.w_q = w_q.view(), other.w_e = w_e.view(), other.w_r = w_r.view();
  right::grouped(other, out);
}

}  // namespace attest::faults::positional::xl_relative_score
