// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "faults/variant.hpp"

namespace attest::faults::attention::multi_head {

namespace right = attest::reference::attention::multi_head;
namespace sdp = attest::reference::attention::scaled_dot_product;
using right::In;
using right::Out;

/// The concatenation [head_0 | head_1 | ..].
template <class T>
Matrix<T> heads_of(const In<T>& in) {
  return right::concatenated(in, [&](Index h) { return right::head(in, h); });
}

/// W_Q[h] multiplied by `factor`.
template <class T>
void with_queries_times(In<T> in, const Out<T>& out, const T& factor) {
  std::vector<T> w;
  const auto [heads, f, d] = in.w_q.extents();
  for (Index h = 0; h < heads; ++h)
    for (Index a = 0; a < f; ++a)
      for (Index b = 0; b < d; ++b) w.push_back(in.w_q(h, a, b) * factor);
  in.w_q = View<const T, 3>(w.data(), {heads, f, d});
  right::loop(in, out);
}

template <class T>
void scale_total_width(const In<T>& in, const Out<T>& out) {
  with_queries_times(in, out, in.scale ? T(1) : T(T(1) / sqrt(T(in.w_q.extent(0)))));
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  if (!in.scale) other.scale = 1;
  right::loop(other, out);
}

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = {};
  right::loop(other, out);
}

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) { with_queries_times(in, out, T(T(1) + c)); }

template <class T>
void scaled_projection(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.scale = 1;
  with_queries_times(other, out, in.scale ? T(*in.scale) : T(T(1) / sqrt(T(in.w_q.extent(2)))));
}

template <class T>
void interleaved_split(const In<T>& in, const Out<T>& out) {
  const Index heads = in.w_q.extent(0);
  const auto mine = [&](View<const T, 2> x, View<const T, 3> w, Index h) {
    const Matrix<T> all = right::projected<T>(x, right::packed_weights(w).view());
    return matrix_of<T>(x.extent(0), w.extent(2), [&](Index i, Index a) { return all(i, a * heads + h); });
  };
  right::output(in, right::concatenated(in, [&](Index h) {
    return right::attended(in, mine(in.x_q, in.w_q, h), mine(in.x_k, in.w_k, h), mine(in.x_v, in.w_v, h));
  }), out);
}

template <class T>
void concat_reversed(const In<T>& in, const Out<T>& out) {
  right::output(in, right::concatenated(in, [&](Index h) { return right::head(in, in.w_q.extent(0) - 1 - h); }), out);
}

/// o = y w(row, column)
template <class T, class F>
void through(const Out<T>& out, const Matrix<T>& y, F&& w) {
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e) out.o(i, e) = sum(y.extent(1), [&](Index t) { return T(y(i, t) * w(t, e)); });
}

template <class T>
void w_o_transposed(const In<T>& in, const Out<T>& out) {
  const Matrix<T> y = heads_of(in);
  const Index m = in.w_o.extent(1), width = in.w_o.extent(2);
  through(out, y, [&](Index t, Index e) {
    const Index flat = e * y.extent(1) + t;
    return in.w_o(flat / width / m, flat / width % m, flat % width);
  });
}

template <class T>
void heads_averaged(const In<T>& in, const Out<T>& out) {
  right::loop(in, out);
  for (Index i = 0; i < out.o.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e) out.o(i, e) = out.o(i, e) / T(in.w_q.extent(0));
}

template <class T>
void concat_tokens(const In<T>& in, const Out<T>& out) {
  const Matrix<T> y = heads_of(in);
  const Index n = y.extent(0), m = in.w_v.extent(2), width = y.extent(1);
  right::output(in, matrix_of<T>(n, width, [&](Index i, Index t) {
    const Index flat = i * width + t;  // heads, tokens, columns
    return y(flat / m % n, flat / (m * n) * m + flat % m);
  }), out);
}

template <class T>
void output_projection_missing(const In<T>& in, const Out<T>& out) {
  through(out, heads_of(in), [width = in.w_o.extent(0) * in.w_o.extent(1)](Index t, Index e) { return t == e % width ? T(1) : T(0); });
}

template <class T>
void first_head_for_all(const In<T>& in, const Out<T>& out) {
  right::output(in, right::concatenated(in, [&](Index) { return right::head(in, 0); }), out);
}

template <class T>
void values_from_keys(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.x_v = in.x_k;
  right::loop(other, out);
}

template <class T>
void keys_from_queries(const In<T>& in, const Out<T>& out) {
  const auto x_k = matrix_of<T>(in.x_k.extent(0), in.x_k.extent(1), [&](Index j, Index f) { return T(in.x_q(j % in.x_q.extent(0), f)); });
  In<T> other = in;
  other.x_k = read_only(x_k);
  right::loop(other, out);
}

template <class T>
void value_projection_of_keys(const In<T>& in, const Out<T>& out) {
  const Index d = in.w_k.extent(2);
  right::output(in, right::concatenated(in, [&](Index h) {
    const auto w_v = matrix_of<T>(in.w_v.extent(1), in.w_v.extent(2), [&](Index f, Index c) { return T(in.w_k(h, f, c % d)); });
    const auto q = right::projected(in.x_q, in.w_q[h]), k = right::projected(in.x_k, in.w_k[h]);
    return right::attended(in, q, k, right::projected(in.x_v, read_only(w_v)));
  }), out);
}

template <class T>
void causal_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.causal = false;
  right::loop(other, out);
}

/// The equation under another mask.
template <class T, class F>
void with_mask(In<T> in, const Out<T>& out, bool causal, F&& sees) {
  const Mask mask(in.x_q.extent(0), in.x_k.extent(0), sees);
  in.mask = mask.view();
  in.causal = causal;
  right::loop(in, out);
}

template <class T>
void always_causal(const In<T>& in, const Out<T>& out) {
  const Index past = in.x_k.extent(0) - in.x_q.extent(0);
  with_mask(in, out, false, [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && j <= i + past; });
}

template <class T>
void causal_top_left(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, false, [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && (!in.causal || j <= i); });
}

template <class T>
void mask_ignored(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, in.causal, [](Index, Index) { return true; });
}

template <class T>
void mask_inverted(const In<T>& in, const Out<T>& out) {
  with_mask(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

template <class T>
void mask_of_first_head(const In<T>& in, const Out<T>& out) {
  In<T> open = in;
  open.mask = {};
  right::output(in, right::concatenated(in, [&](Index h) { return right::head(h == 0 ? in : open, h); }), out);
}

template <class T>
void no_max_shift(const In<T>& in, const Out<T>& out) {
  right::output(in, right::concatenated(in, [&](Index h) {
    const auto q = right::projected(in.x_q, in.w_q[h]), k = right::projected(in.x_k, in.w_k[h]), v = right::projected(in.x_v, in.w_v[h]);
    Matrix<T> head(q.extent(0), v.extent(1));
    sdp::dense<T>({.q = q.view(), .k = k.view(), .v = v.view(), .mask = in.mask, .bias = {}, .scale = in.scale, .causal = in.causal},
                  {.o = head.view()});
    return head;
  }), out);
}

}  // namespace attest::faults::attention::multi_head
