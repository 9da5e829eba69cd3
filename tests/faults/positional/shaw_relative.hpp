// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/positional/shaw_relative.hpp"
#include "faults/variant.hpp"

namespace attest::faults::positional::shaw_relative {

namespace right = attest::reference::positional::shaw_relative;
using right::In;
using right::Out;

/// The equation with other rows of the tables.
template <class T, class K, class V>
void with_rows(const In<T>& in, const Out<T>& out, K&& key_row, V&& value_row) {
  right::each_row(in, out, [&](Index i, Index j) { return right::score_at(in, i, j, key_row(i, j)); },
                  [&](Index i, Index c, const std::vector<Index>& keys, const Vector<T>& a) {
                    return right::mean_at(in, c, keys, a, [&](Index j) { return value_row(i, j); });
                  });
}

template <class T, class R>
void with_row(const In<T>& in, const Out<T>& out, R&& row) { with_rows(in, out, row, row); }

/// The equation with other scores.
template <class T, class S>
void with_score(const In<T>& in, const Out<T>& out, S&& score) { right::each_row(in, out, score, right::values(in)); }

/// The row of a distance; c is the largest that has one of its own.
template <class T>
Index clipped(const In<T>& in, Index distance) {
  const Index c = (in.p_k.extent(0) - 1) / 2;
  return std::clamp<Index>(distance, -c, c) + c;
}

/// As a negative index from the end, or beyond it: what an array that wraps around gives.
template <class T>
Index wrapped(const In<T>& in, Index row) {
  const Index t = in.p_k.extent(0);
  return (row % t + t) % t;
}

template <class T>
Index distance(const In<T>& in, Index i, Index j) { return j - i - right::offset_of(in); }

template <class T>
void sign_flipped(const In<T>& in, const Out<T>& out) {
  with_row(in, out, [&](Index i, Index j) { return clipped(in, -distance(in, i, j)); });
}

template <class T>
void no_clip(const In<T>& in, const Out<T>& out) {
  with_row(in, out, [&](Index i, Index j) { return wrapped(in, distance(in, i, j) + (in.p_k.extent(0) - 1) / 2); });
}

template <class T>
void absolute_distance(const In<T>& in, const Out<T>& out) {
  with_row(in, out, [&](Index i, Index j) { return clipped(in, std::abs(distance(in, i, j))); });
}

template <class T>
void index_offset_missing(const In<T>& in, const Out<T>& out) {
  with_row(in, out, [&](Index i, Index j) { return wrapped(in, right::row_of(in, i, j) - (in.p_k.extent(0) - 1) / 2); });
}

template <class T>
void clip_one_short(const In<T>& in, const Out<T>& out) {
  const Index c = (in.p_k.extent(0) - 1) / 2, short_c = std::max<Index>(c - 1, 0);
  with_row(in, out, [&](Index i, Index j) { return std::clamp<Index>(distance(in, i, j), -short_c, short_c) + c; });
}

template <class T>
void value_sign_flipped(const In<T>& in, const Out<T>& out) {
  with_rows(in, out, [&](Index i, Index j) { return right::row_of(in, i, j); }, [&](Index i, Index j) { return clipped(in, -distance(in, i, j)); });
}

template <class T>
void offset_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.offset = 0;
  right::pairwise(other, out);
}

template <class T>
void value_table_missing(const In<T>& in, const Out<T>& out) {
  const Matrix<T> none(in.p_v.extent(0), in.p_v.extent(1));
  In<T> other = in;
  other.p_v = read_only(none);
  right::pairwise(other, out);
}

template <class T>
void key_table_missing(const In<T>& in, const Out<T>& out) {
  with_score(in, out, [&](Index i, Index j) { return dot<T>(in.q[i], in.k[j]); });
}

template <class T>
void tables_by_query(const In<T>& in, const Out<T>& out) {
  with_score(in, out, [&](Index i, Index j) { return T(dot<T>(in.q[i], in.k[j]) + dot<T>(in.k[j], in.p_k[right::row_of(in, i, j)])); });
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (!in.scale) other.scale = 1;
  right::pairwise(other, out);
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = {};
  right::pairwise(other, out);
}

template <class T>
void scale_on_content_only(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = 1;
  const T scale = right::scale_of<T>(in);
  with_score(other, out, [&](Index i, Index j) { return T(scale * dot<T>(in.q[i], in.k[j]) + dot<T>(in.q[i], in.p_k[right::row_of(in, i, j)])); });
}

template <class T>
void value_table_unweighted(const In<T>& in, const Out<T>& out) {
  right::each_row(in, out, [&](Index i, Index j) { return right::score_at(in, i, j, right::row_of(in, i, j)); },
                  [&](Index i, Index c, const std::vector<Index>& keys, const Vector<T>& a) {
                    const auto at = [&](Index t) { return keys[static_cast<std::size_t>(t)]; };
                    return sum(a.extent(), [&](Index t) { return T(a(t) * in.v(at(t), c)); }) +
                           sum(a.extent(), [&](Index t) { return T(in.p_v(right::row_of(in, i, at(t)), c)); }) / T(a.extent());
                  });
}

/// The equation under another mask.
template <class T, class F>
void with_mask(In<T> in, const Out<T>& out, F&& sees) {
  const Mask mask(in.q.extent(0), in.k.extent(0), sees);
  in.mask = mask.view();
  right::pairwise(in, out);
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) { with_mask(in, out, [](Index, Index) { return true; }); }

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) { with_mask(in, out, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); }); }

template <class T>
void last_key_dropped(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, [&](Index i, Index j) {
    const auto keys = right::visible(in, i);
    return (!in.mask || in.mask(i, j)) && (keys.size() < 2 || j != keys.back());
  });
}

template <class T>
void no_max_shift(const In<T>& in, const Out<T>& out) {
  const T scale = right::scale_of<T>(in);
  right::pairwise(in, out);
  for (Index i = 0; i < in.q.extent(0); ++i) {
    const auto keys = right::visible(in, i);
    if (keys.empty()) continue;
    const auto e = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index j = keys[static_cast<std::size_t>(t)];
      return exp(scale * right::score_at(in, i, j, right::row_of(in, i, j)));
    });
    const T z = sum(e.extent(), [&](Index t) { return e(t); });
    for (Index c = 0; c < in.v.extent(1); ++c) out.o(i, c) = right::mean_at(in, c, keys, e, [&](Index j) { return right::row_of(in, i, j); }) / z;
  }
}

template <class T>
void with_queries_times(const In<T>& in, const Out<T>& out, const T& factor, std::optional<double> scale) {
  const auto q = matrix_of<T>(in.q.extent(0), in.q.extent(1), [&](Index i, Index a) { return factor * in.q(i, a); });
  In<T> other = in;
  other.q = read_only(q);
  other.scale = scale;
  right::pairwise(other, out);
}

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) { with_queries_times(in, out, T(T(1) + c), in.scale); }

template <class T>
void scaled_queries(const In<T>& in, const Out<T>& out) { with_queries_times(in, out, right::scale_of<T>(in), 1); }

}  // namespace attest::faults::positional::shaw_relative
