// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/qkv_projection.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::qkv_projection {

namespace right = attest::reference::attention::qkv_projection;
using right::In;
using right::Out;

/// The shape of w from columns of `source`, repeated where it is narrower.
template <class T>
Matrix<T> with_width_of(View<const T, 2> w, View<const T, 2> source) {
  return matrix_of<T>(w.extent(0), w.extent(1), [&](Index f, Index a) { return T(source(f, a % source.extent(1))); });
}

/// `count` rows of x, from the start again where there are fewer.
template <class T>
Matrix<T> rows_of(View<const T, 2> x, Index count) {
  return matrix_of<T>(count, x.extent(1), [&](Index i, Index f) { return T(x(i % x.extent(0), f)); });
}

/// The equation with other weights.
template <class T>
void with_weights(In<T> in, const Out<T>& out, const Matrix<T>& w_q, const Matrix<T>& w_k, const Matrix<T>& w_v) {
  in.w_q = read_only(w_q), in.w_k = read_only(w_k), in.w_v = read_only(w_v);
  right::separate(in, out);
}

template <class T>
void transposed_weight(const In<T>& in, const Out<T>& out) {
  const auto misread = [](View<const T, 2> w) {
    const auto [f, width] = w.extents();
    return matrix_of<T>(f, width, [&, rows = f, columns = width](Index r, Index a) {
      const Index flat = a * rows + r;
      return T(w(flat / columns, flat % columns));
    });
  };
  with_weights(in, out, misread(in.w_q), misread(in.w_k), misread(in.w_v));
}

template <class T>
void swap_k_v(const In<T>& in, const Out<T>& out) {
  with_weights(in, out, with_width_of(in.w_q, in.w_q), with_width_of(in.w_k, in.w_v), with_width_of(in.w_v, in.w_k));
}

template <class T>
void swap_q_k(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  std::swap(other.w_q, other.w_k);
  right::separate(other, out);
}

/// The equation with column number `column(t)` of [w_q | w_k | w_v] where t is right.
template <class T, class F>
void with_columns(const In<T>& in, const Out<T>& out, F&& column) {
  const Matrix<T> w = right::side_by_side(in);
  const Index f = in.w_q.extent(0), d = in.w_q.extent(1), m = in.w_v.extent(1);
  const auto part = [&](Index first, Index count) {
    return matrix_of<T>(f, count, [&](Index r, Index a) { return T(w(r, column(first + a))); });
  };
  with_weights(in, out, part(0, d), part(d, d), part(2 * d, m));
}

template <class T>
void split_order(const In<T>& in, const Out<T>& out) {
  const Index d = in.w_q.extent(1), m = in.w_v.extent(1);
  with_columns(in, out, [&](Index t) { return t < d ? t : t < 2 * d ? t + m : t - d; });
}

template <class T>
void interleaved_split(const In<T>& in, const Out<T>& out) {
  const Index d = in.w_q.extent(1), width = 2 * d + in.w_v.extent(1);
  with_columns(in, out, [&](Index t) { return (t % d * 3 + t / d) % width; });
}

template <class T>
void value_from_queries(const In<T>& in, const Out<T>& out) {
  const auto x = rows_of(in.x, in.x_kv.extent(0));
  right::separate(in, out);
  right::fill(out.v, [&](Index j, Index c) { return dot<T>(x[j], in.w_v.column(c)); });
}

template <class T>
void keys_from_queries(const In<T>& in, const Out<T>& out) {
  const auto x = rows_of(in.x, in.x_kv.extent(0));
  right::separate(in, out);
  right::fill(out.k, [&](Index j, Index a) { return dot<T>(x[j], in.w_k.column(a)); });
}

template <class T>
void queries_from_keys(const In<T>& in, const Out<T>& out) {
  const auto x = rows_of(in.x_kv, in.x.extent(0));
  In<T> other = in;
  other.x = read_only(x);
  right::separate(other, out);
}

template <class T>
void last_input_dropped(const In<T>& in, const Out<T>& out) {
  const Index f = in.x.extent(1);
  const auto even = [&](View<const T, 2> w) {
    return matrix_of<T>(f, w.extent(1), [&](Index r, Index a) { return r == f - 1 && f % 2 == 1 ? T(0) : T(w(r, a)); });
  };
  with_weights(in, out, even(in.w_q), even(in.w_k), even(in.w_v));
}

template <class T>
void scaled_queries(const In<T>& in, const Out<T>& out) {
  right::separate(in, out);
  const T root = sqrt(T(in.w_q.extent(1)));
  right::fill(out.q, [&](Index i, Index a) { return out.q(i, a) / root; });
}

template <class T>
void value_drift(const In<T>& in, const Out<T>& out, const T& c) {
  right::separate(in, out);
  right::fill(out.v, [&](Index j, Index e) { return out.v(j, e) * (T(1) + c); });
}

}  // namespace attest::faults::attention::qkv_projection
