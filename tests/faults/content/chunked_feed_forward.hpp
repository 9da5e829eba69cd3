// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/content/chunked_feed_forward.hpp"
#include "faults/fault.hpp"

namespace attest::faults::content::chunked_feed_forward {

namespace right = attest::reference::content::chunked_feed_forward;
using attest::spec::attention::feed_forward::Activation;
using right::In;
using right::Out;

/// F of all tokens of y_1.
inline Matrix network(const In& in) {
  Matrix f(in.y_1.extent(0), in.y_1.extent(1));
  right::network::dense(right::network_of(in), {.y = f.view()});
  return f;
}

/// y_2 = f(i, c) element by element.
template <class F>
void fill(const In& in, const Out& out, F&& f) {
  for (Index i = 0; i < in.x_2.extent(0); ++i)
    for (Index c = 0; c < in.x_2.extent(1); ++c) out.y_2(i, c) = f(i, c);
}

/// The chunk that token i is in.
inline Index chunk_of(const In& in, Index i) {
  Index a = 0;
  while (right::start(in, a + 1) <= i) ++a;
  return a;
}

inline void remainder_dropped(const In& in, const Out& out) {
  const Matrix f = network(in);
  const Index whole = in.x_2.extent(0) / in.chunks * in.chunks;
  fill(in, out, [&](Index i, Index c) { return i < whole ? in.x_2(i, c) + f(i, c) : in.x_2(i, c); });
}

inline void feature_split(const In& in, const Out& out) {
  const auto [n, d] = in.x_2.extents();
  const auto part = [&, width = d](Index c) {
    Index a = 0;
    while ((a + 1) * width / in.chunks <= c) ++a;
    return a;
  };
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < d; ++c) {
      const auto y = tabulate(d, [&](Index e) { return part(e) == part(c) ? in.y_1(i, e) : Number(0); });
      const auto h = right::network::hidden(right::network_of(in), y);
      out.y_2(i, c) = in.x_2(i, c) + right::network::biased(in.b_2, c, dot(h, in.w_2.column(c)));
    }
}

inline void residual_missing(const In& in, const Out& out) {
  const Matrix f = network(in);
  fill(in, out, [&](Index i, Index c) { return f(i, c); });
}

inline void residual_from_y1(const In& in, const Out& out) {
  In other = in;
  other.x_2 = in.y_1;
  right::whole(other, out);
}

inline void residual_normalised(const In& in, const Out& out) {
  const Matrix f = network(in);
  fill(in, out, [&](Index i, Index c) { return (in.x_2(i, c) + f(i, c)) / 2; });
}

inline void network_of_x_2(const In& in, const Out& out) {
  In other = in;
  other.y_1 = in.x_2;
  right::whole(other, out);
}

inline void residual_of_first_chunk(const In& in, const Out& out) {
  const Matrix f = network(in);
  fill(in, out, [&](Index i, Index c) { return in.x_2(i - right::start(in, chunk_of(in, i)), c) + f(i, c); });
}

inline void weights_per_chunk(const In& in, const Out& out) {
  const auto [hidden, width] = in.w_2.extents();
  for (Index a = 0; a < in.chunks; ++a) {
    const Matrix w_2 =
        matrix_of(hidden, width, [&, rows = hidden](Index t, Index c) { return in.w_2((t + a) % rows, c); });
    In other = in;
    other.w_2 = read_only(w_2);
    right::rows(other, out, right::start(in, a), right::start(in, a + 1));
  }
}

inline void chunks_in_reverse(const In& in, const Out& out) {
  const Matrix f = network(in);
  Index at = 0;
  for (Index a = in.chunks; a-- > 0;)
    for (Index i = right::start(in, a); i < right::start(in, a + 1); ++i, ++at)
      for (Index c = 0; c < f.extent(1); ++c) out.y_2(at, c) = in.x_2(i, c) + f(i, c);
}

inline void activation_ignored(In in, const Out& out) {
  in.activation = Activation::relu;
  right::whole(in, out);
}

inline void bias1_missing(In in, const Out& out) {
  in.b_1 = {};
  right::whole(in, out);
}

inline void bias2_missing(In in, const Out& out) {
  in.b_2 = {};
  right::whole(in, out);
}

inline void bias2_in_first_chunk(In in, const Out& out) {
  for (Index a = 0; a < in.chunks; ++a) {
    right::rows(in, out, right::start(in, a), right::start(in, a + 1));
    if (right::start(in, a + 1) > 0) in.b_2 = {};
  }
}

inline void hidden_drift(const In& in, const Out& out, const Number& c) {
  for (Index i = 0; i < in.x_2.extent(0); ++i) {
    const auto h = right::network::hidden(right::network_of(in), in.y_1[i]);
    const auto off = tabulate(h.extent(), [&](Index t) { return h(t) * (Number(1) + c); });
    for (Index e = 0; e < in.x_2.extent(1); ++e)
      out.y_2(i, e) = in.x_2(i, e) + right::network::biased(in.b_2, e, dot(off, in.w_2.column(e)));
  }
}

}  // namespace attest::faults::content::chunked_feed_forward
