// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/multi_head.hpp"
#include "faults/fault.hpp"

namespace attest::faults::attention::multi_head {

namespace right = attest::reference::attention::multi_head;
namespace sdp = attest::reference::attention::scaled_dot_product;
using right::In;
using right::Out;

/// The concatenation [head_0 | head_1 | ..].
inline Matrix heads_of(const In& in) {
  return right::concatenated(in, [&](Index h) { return right::head(in, h); });
}

/// W_Q[h] multiplied by `factor`.
inline void with_queries_times(In in, const Out& out, const Number& factor) {
  std::vector<Number> w;
  const auto [heads, f, d] = in.w_q.extents();
  for (Index h = 0; h < heads; ++h)
    for (Index a = 0; a < f; ++a)
      for (Index b = 0; b < d; ++b) w.push_back(in.w_q(h, a, b) * factor);
  in.w_q = View<const Number, 3>(w.data(), {heads, f, d});
  right::loop(in, out);
}

inline void scale_total_width(const In& in, const Out& out) {
  with_queries_times(in, out, in.scale ? Number(1) : 1 / sqrt(Number(in.w_q.extent(0))));
}

inline void scale_missing(const In& in, const Out& out) {
  In other = in;
  if (!in.scale) other.scale = 1;
  right::loop(other, out);
}

inline void scale_ignored(const In& in, const Out& out) {
  In other = in;
  other.scale = {};
  right::loop(other, out);
}

inline void scale_drift(const In& in, const Out& out, const Number& c) { with_queries_times(in, out, Number(1) + c); }

inline void scaled_projection(const In& in, const Out& out) {
  In other = in;
  other.scale = 1;
  with_queries_times(other, out, in.scale ? parameter(*in.scale) : 1 / sqrt(Number(in.w_q.extent(2))));
}

inline void interleaved_split(const In& in, const Out& out) {
  const Index heads = in.w_q.extent(0);
  const auto mine = [&](View<const Number, 2> x, View<const Number, 3> w, Index h) {
    const Matrix all = right::projected(x, right::packed_weights(w).view());
    return matrix_of(x.extent(0), w.extent(2), [&](Index i, Index a) { return all(i, a * heads + h); });
  };
  right::output(in,
                right::concatenated(in,
                                    [&](Index h) {
                                      return right::attended(in, mine(in.x_q, in.w_q, h), mine(in.x_k, in.w_k, h),
                                                             mine(in.x_v, in.w_v, h));
                                    }),
                out);
}

inline void concat_reversed(const In& in, const Out& out) {
  right::output(in, right::concatenated(in, [&](Index h) { return right::head(in, in.w_q.extent(0) - 1 - h); }), out);
}

/// o = y w(row, column)
template <class F>
void through(const Out& out, const Matrix& y, F&& w) {
  for (Index i = 0; i < y.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e)
      out.o(i, e) = sum(y.extent(1), [&](Index t) { return Number(y(i, t) * w(t, e)); });
}

inline void w_o_transposed(const In& in, const Out& out) {
  const Matrix y = heads_of(in);
  const Index m = in.w_o.extent(1), width = in.w_o.extent(2);
  through(out, y, [&](Index t, Index e) {
    const Index flat = e * y.extent(1) + t;
    return in.w_o(flat / width / m, flat / width % m, flat % width);
  });
}

inline void heads_averaged(const In& in, const Out& out) {
  right::loop(in, out);
  for (Index i = 0; i < out.o.extent(0); ++i)
    for (Index e = 0; e < out.o.extent(1); ++e) out.o(i, e) = out.o(i, e) / Number(in.w_q.extent(0));
}

inline void concat_tokens(const In& in, const Out& out) {
  const Matrix y = heads_of(in);
  const Index n = y.extent(0), m = in.w_v.extent(2), width = y.extent(1);
  right::output(in,
                matrix_of(n, width,
                          [&](Index i, Index t) {
                            const Index flat = i * width + t;  // heads, tokens, columns
                            return y(flat / m % n, flat / (m * n) * m + flat % m);
                          }),
                out);
}

inline void output_projection_missing(const In& in, const Out& out) {
  through(out, heads_of(in), [width = in.w_o.extent(0) * in.w_o.extent(1)](Index t, Index e) {
    return t == e % width ? Number(1) : Number(0);
  });
}

inline void first_head_for_all(const In& in, const Out& out) {
  right::output(in, right::concatenated(in, [&](Index) { return right::head(in, 0); }), out);
}

inline void values_from_keys(const In& in, const Out& out) {
  In other = in;
  other.x_v = in.x_k;
  right::loop(other, out);
}

inline void keys_from_queries(const In& in, const Out& out) {
  const auto x_k =
      matrix_of(in.x_k.extent(0), in.x_k.extent(1), [&](Index j, Index f) { return in.x_q(j % in.x_q.extent(0), f); });
  In other = in;
  other.x_k = read_only(x_k);
  right::loop(other, out);
}

inline void value_projection_of_keys(const In& in, const Out& out) {
  const Index d = in.w_k.extent(2);
  right::output(in,
                right::concatenated(in,
                                    [&](Index h) {
                                      const auto w_v = matrix_of(in.w_v.extent(1), in.w_v.extent(2),
                                                                 [&](Index f, Index c) { return in.w_k(h, f, c % d); });
                                      const auto q = right::projected(in.x_q, in.w_q[h]),
                                                 k = right::projected(in.x_k, in.w_k[h]);
                                      return right::attended(in, q, k, right::projected(in.x_v, read_only(w_v)));
                                    }),
                out);
}

inline void causal_ignored(const In& in, const Out& out) {
  In other = in;
  other.causal = false;
  right::loop(other, out);
}

/// The equation under another mask.
template <class F>
void with_mask(In in, const Out& out, bool causal, F&& sees) {
  const Mask mask(in.x_q.extent(0), in.x_k.extent(0), sees);
  in.mask = mask.view();
  in.causal = causal;
  right::loop(in, out);
}

inline void always_causal(const In& in, const Out& out) {
  const Index past = in.x_k.extent(0) - in.x_q.extent(0);
  with_mask(in, out, false, [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && j <= i + past; });
}

inline void causal_top_left(const In& in, const Out& out) {
  with_mask(in, out, false, [&](Index i, Index j) { return (!in.mask || in.mask(i, j)) && (!in.causal || j <= i); });
}

inline void mask_ignored(const In& in, const Out& out) {
  with_mask(in, out, in.causal, [](Index, Index) { return true; });
}

inline void mask_inverted(const In& in, const Out& out) {
  with_mask(in, out, in.causal, [&](Index i, Index j) { return !in.mask || !in.mask(i, j); });
}

inline void mask_of_first_head(const In& in, const Out& out) {
  In open = in;
  open.mask = {};
  right::output(in, right::concatenated(in, [&](Index h) { return right::head(h == 0 ? in : open, h); }), out);
}

inline void no_max_shift(const In& in, const Out& out) {
  right::output(in,
                right::concatenated(in,
                                    [&](Index h) {
                                      const auto q = right::projected(in.x_q, in.w_q[h]),
                                                 k = right::projected(in.x_k, in.w_k[h]),
                                                 v = right::projected(in.x_v, in.w_v[h]);
                                      Matrix head(q.extent(0), v.extent(1));
                                      sdp::dense({.q = q.view(),
                                                  .k = k.view(),
                                                  .v = v.view(),
                                                  .mask = in.mask,
                                                  .bias = {},
                                                  .sink = {},
                                                  .scale = in.scale,
                                                  .causal = in.causal},
                                                 {.o = head.view()});
                                      return head;
                                    }),
                out);
}

}  // namespace attest::faults::attention::multi_head
