// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/shaw_relative.hpp"
#include "faults/fault.hpp"

namespace attest::faults::positional::shaw_relative {

namespace right = attest::reference::positional::shaw_relative;
using right::In;
using right::Out;

/// The equation with other rows of the tables.
template <class K, class V>
void with_rows(const In& in, const Out& out, K&& key_row, V&& value_row) {
  right::each_row(
      in, out, [&](Index i, Index j) { return right::score_at(in, i, j, key_row(i, j)); },
      [&](Index i, Index c, const std::vector<Index>& keys, const Vector& a) {
        return right::mean_at(in, c, keys, a, [&](Index j) { return value_row(i, j); });
      });
}

template <class R>
void with_row(const In& in, const Out& out, R&& row) {
  with_rows(in, out, row, row);
}

/// The equation with other scores.
template <class S>
void with_score(const In& in, const Out& out, S&& score) {
  right::each_row(in, out, score, right::values(in));
}

/// The row of a distance; c is the largest that has one of its own.
inline Index clipped(const In& in, Index distance) {
  const Index c = (in.p_k.extent(0) - 1) / 2;
  return std::clamp<Index>(distance, -c, c) + c;
}

/// As a negative index from the end, or beyond it: what an array that wraps around gives.
inline Index wrapped(const In& in, Index row) {
  const Index t = in.p_k.extent(0);
  return (row % t + t) % t;
}

inline Index distance(const In& in, Index i, Index j) { return j - i - right::offset_of(in); }

inline void sign_flipped(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, Index j) { return clipped(in, -distance(in, i, j)); });
}

inline void no_clip(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, Index j) { return wrapped(in, distance(in, i, j) + (in.p_k.extent(0) - 1) / 2); });
}

inline void absolute_distance(const In& in, const Out& out) {
  with_row(in, out, [&](Index i, Index j) { return clipped(in, std::abs(distance(in, i, j))); });
}

inline void index_offset_missing(const In& in, const Out& out) {
  with_row(in, out,
           [&](Index i, Index j) { return wrapped(in, right::row_of(in, i, j) - (in.p_k.extent(0) - 1) / 2); });
}

inline void clip_one_short(const In& in, const Out& out) {
  const Index c = (in.p_k.extent(0) - 1) / 2, short_c = std::max<Index>(c - 1, 0);
  with_row(in, out, [&](Index i, Index j) { return std::clamp<Index>(distance(in, i, j), -short_c, short_c) + c; });
}

inline void value_sign_flipped(const In& in, const Out& out) {
  with_rows(
      in, out, [&](Index i, Index j) { return right::row_of(in, i, j); },
      [&](Index i, Index j) { return clipped(in, -distance(in, i, j)); });
}

inline void offset_ignored(const In& in, const Out& out) {
  In other = in;
  other.offset = 0;
  right::pairwise(other, out);
}

inline void value_table_missing(const In& in, const Out& out) {
  const Matrix none(in.p_v.extent(0), in.p_v.extent(1));
  In other = in;
  other.p_v = read_only(none);
  right::pairwise(other, out);
}

inline void key_table_missing(const In& in, const Out& out) {
  with_score(in, out, [&](Index i, Index j) { return dot(in.q[i], in.k[j]); });
}

inline void tables_by_query(const In& in, const Out& out) {
  with_score(in, out,
             [&](Index i, Index j) { return dot(in.q[i], in.k[j]) + dot(in.k[j], in.p_k[right::row_of(in, i, j)]); });
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!in.scale) other.scale = 1;
  right::pairwise(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::pairwise(other, out);
}

inline void scale_on_content_only(const In& in, const Out& out) {
  In other = in;
  other.scale = 1;
  const Number scale = right::scale_of(in);
  with_score(other, out, [&](Index i, Index j) {
    return scale * dot(in.q[i], in.k[j]) + dot(in.q[i], in.p_k[right::row_of(in, i, j)]);
  });
}

inline void value_table_unweighted(const In& in, const Out& out) {
  right::each_row(
      in, out, [&](Index i, Index j) { return right::score_at(in, i, j, right::row_of(in, i, j)); },
      [&](Index i, Index c, const std::vector<Index>& keys, const Vector& a) {
        const auto at = [&](Index t) { return keys[static_cast<std::size_t>(t)]; };
        return sum(a.extent(), [&](Index t) { return a(t) * in.v(at(t), c); }) +
               sum(a.extent(), [&](Index t) { return Number(in.p_v(right::row_of(in, i, at(t)), c)); }) /
                   Number(a.extent());
      });
}

/// The equation under another mask.
template <class F>
void with_mask(In in, const Out& out, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees);
  in.mask = mask.view();
  right::pairwise(in, out);
}

inline void mask_ignored(const In& in, const Out& out) {
  with_mask(in, out, [](Index, Index) { return true; });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

inline void last_key_dropped(const In& in, const Out& out) {
  with_mask(in, out, [&](Index i, Index j) {
    const auto keys = right::visible(in, i);
    return (!in.mask || in.mask(i, j)) && (keys.size() < 2 || j != keys.back());
  });
}

inline void no_max_shift(const In& in, const Out& out) {
  const Number scale = right::scale_of(in);
  right::pairwise(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) continue;
    const auto e = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index j = keys[static_cast<std::size_t>(t)];
      return exp(scale * right::score_at(in, i, j, right::row_of(in, i, j)));
    });
    const Number z = sum(e.extent(), [&](Index t) { return e(t); });
    for (Index c = 0; c < in.v.extent(1); ++c)
      out.o(i, c) = right::mean_at(in, c, keys, e, [&](Index j) { return right::row_of(in, i, j); }) / z;
  }
}

inline void with_queries_times(const In& in, const Out& out, const Number& factor, std::optional<double> scale) {
  const auto q = matrix_of(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return factor * in.q(i, a); });
  In other = in;
  other.q = read_only(q);
  other.scale = scale;
  right::pairwise(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_queries_times(in, out, Number(1) + c, in.scale);
}

inline void scaled_queries(const In& in, const Out& out) { with_queries_times(in, out, right::scale_of(in), 1); }

}  // namespace attest::faults::positional::shaw_relative
