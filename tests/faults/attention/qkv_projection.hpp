// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/qkv_projection.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::qkv_projection {

namespace right = attest::reference::attention::qkv_projection;
using right::In;
using right::Out;

/// The shape of w from columns of `source`, repeated where it is narrower.
inline Matrix with_width_of(View<const Number, 2> w, View<const Number, 2> source) {
  return matrix_of(w.extent(0), w.extent(1), [&](Index f, Index a) { return source(f, a % source.extent(1)); });
}

/// `count` rows of x, from the start again where there are fewer.
inline Matrix rows_of(View<const Number, 2> x, Index count) {
  return matrix_of(count, x.extent(1), [&](Index i, Index f) { return x(i % x.extent(0), f); });
}

/// The equation with other weights.
inline void with_weights(In in, const Out& out, const Matrix& w_q, const Matrix& w_k, const Matrix& w_v) {
  in.w_q = read_only(w_q), in.w_k = read_only(w_k), in.w_v = read_only(w_v);
  right::separate(in, out);
}

inline void transposed_weight(const In& in, const Out& out) {
  const auto misread = [](View<const Number, 2> w) {
    const auto [f, width] = w.extents();
    return matrix_of(f, width, [&, rows = f, columns = width](Index r, Index a) {
      const Index flat = a * rows + r;
      return w(flat / columns, flat % columns);
    });
  };
  with_weights(in, out, misread(in.w_q), misread(in.w_k), misread(in.w_v));
}

inline void swap_k_v(const In& in, const Out& out) {
  with_weights(in, out, with_width_of(in.w_q, in.w_q), with_width_of(in.w_k, in.w_v), with_width_of(in.w_v, in.w_k));
}

inline void swap_q_k(const In& in, const Out& out) {
  In other = in;
  std::swap(other.w_q, other.w_k);
  right::separate(other, out);
}

/// The equation with column number `column(t)` of [w_q | w_k | w_v] where t is right.
template <class F>
void with_columns(const In& in, const Out& out, F&& column) {
  const Matrix w = right::side_by_side(in);
  const Index f = in.w_q.extent(0), d = in.w_q.extent(1), m = in.w_v.extent(1);
  const auto part = [&](Index first, Index count) {
    return matrix_of(f, count, [&](Index r, Index a) { return w(r, column(first + a)); });
  };
  with_weights(in, out, part(0, d), part(d, d), part(2 * d, m));
}

inline void split_order(const In& in, const Out& out) {
  const Index d = in.w_q.extent(1), m = in.w_v.extent(1);
  with_columns(in, out, [&](Index t) { return t < d ? t : t < 2 * d ? t + m : t - d; });
}

inline void interleaved_split(const In& in, const Out& out) {
  const Index d = in.w_q.extent(1), width = 2 * d + in.w_v.extent(1);
  with_columns(in, out, [&](Index t) { return (t % d * 3 + t / d) % width; });
}

inline void value_from_queries(const In& in, const Out& out) {
  const auto x = rows_of(in.x, in.x_kv.extent(0));
  right::separate(in, out);
  right::fill(out.v, [&](Index j, Index c) { return dot(x[j], in.w_v.column(c)); });
}

inline void keys_from_queries(const In& in, const Out& out) {
  const auto x = rows_of(in.x, in.x_kv.extent(0));
  right::separate(in, out);
  right::fill(out.k, [&](Index j, Index a) { return dot(x[j], in.w_k.column(a)); });
}

inline void queries_from_keys(const In& in, const Out& out) {
  const auto x = rows_of(in.x_kv, in.x.extent(0));
  In other = in;
  other.x = read_only(x);
  right::separate(other, out);
}

inline void last_input_dropped(const In& in, const Out& out) {
  const Index f = in.x.extent(1);
  const auto even = [&](View<const Number, 2> w) {
    return matrix_of(f, w.extent(1), [&](Index r, Index a) { return r == f - 1 && f % 2 == 1 ? Number(0) : w(r, a); });
  };
  with_weights(in, out, even(in.w_q), even(in.w_k), even(in.w_v));
}

inline void scaled_queries(const In& in, const Out& out) {
  right::separate(in, out);
  const Number root = sqrt(Number(in.w_q.extent(1)));
  right::fill(out.q, [&](Index i, Index a) { return out.q(i, a) / root; });
}

inline void value_drift(const In& in, const Out& out, const Number& c) {
  right::separate(in, out);
  right::fill(out.v, [&](Index j, Index e) { return out.v(j, e) * (Number(1) + c); });
}

}  // namespace attest::faults::attention::qkv_projection
