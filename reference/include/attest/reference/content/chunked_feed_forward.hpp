// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/attention/feed_forward.hpp"
#include "attest/spec/content/chunked_feed_forward.hpp"

namespace attest::reference::content::chunked_feed_forward {

namespace network = attention::feed_forward;
using In = attest::spec::content::chunked_feed_forward::In<Number>;
using Out = attest::spec::content::chunked_feed_forward::Out<Number>;

/// The first token of chunk a.
inline Index start(const In& in, Index a) { return a * in.x_2.extent(0) / in.chunks; }

/// F, as its own equation has it.
inline network::In network_of(const In& in) {
  return {.x = in.y_1, .w_1 = in.w_1, .b_1 = in.b_1, .w_2 = in.w_2, .b_2 = in.b_2, .activation = in.activation};
}

/// x_2 + F(y_1) of token i.
inline void token(const In& in, const Out& out, Index i) {
  const Vector f = product(network::hidden(network_of(in), in.y_1[i]), in.w_2);
  for (Index c = 0; c < f.extent(); ++c)
    out.y_2(i, c) = in.x_2(i, c) + stage("network outputs", stored(network::biased(in.b_2, c, f(c), in.w_2.extent(0))));
}

/// Tokens first .. end - 1.
inline void rows(const In& in, const Out& out, Index first, Index end) {
  for (Index i = first; i < end; ++i)
    if (is_wanted(out.y_2, i)) token(in, out, i);
}

/// y_2^(a) = x_2^(a) + F(y_1^(a)), a = 1 .. c      [Kitaev et al. 2020, eq. 10]
inline void chunks(const In& in, const Out& out) {
  for (Index a = 0; a < in.chunks; ++a) rows(in, out, start(in, a), start(in, a + 1));
}

/// x_2 + F(y_1)
inline void whole(const In& in, const Out& out) { rows(in, out, 0, in.x_2.extent(0)); }

}  // namespace attest::reference::content::chunked_feed_forward
