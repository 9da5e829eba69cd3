// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/lambda_attention.hpp"
#include "attest/spec/streaming/sink_attention.hpp"

namespace attest::reference::streaming::sink_attention {

namespace lambda = lambda_attention;
using In = attest::spec::streaming::sink_attention::In<Number>;
using Out = attest::spec::streaming::sink_attention::Out<Number>;
using lambda::Policy;
using lambda::Position;
using lambda::Tokens;

/// The position in a cache of `seen` tokens: its place among those that are kept.
inline Index place(const In& in, Index key, Index seen) {
  return key < in.sinks ? key : key - std::max<Index>(0, seen - Policy::of(in).rows());
}

inline Index distance(const In& in, Index position, Index key) {
  return place(in, position, position + 1) - place(in, key, position + 1);
}

/// l_ij = scale (R_p(i) q_i) . (R_p(j) k_j), p the position in the cache: queries and keys are turned at every step.
inline void rotate_at_use(const In& in, const Out& out) {
  const Tokens tokens(in);
  lambda::Scores<In> scores(in);
  lambda::each_row(in, out, tokens, [&](Index i, const std::vector<Index>& keys) {
    const Index seen = in.seen + i + 1, own = place(in, seen - 1, seen);
    const auto q = scores.turned(in.q[i], own);
    const auto l = tabulate(static_cast<Index>(keys.size()), [&](Index t) {
      const Index key = keys[static_cast<std::size_t>(t)];
      const Index at = place(in, tokens.positions[static_cast<std::size_t>(key)], seen);
      return scores.logit(dot(q, scores.turned(View<const Number, 2>(tokens.k)[key], at)), own - at);
    });
    return product(lambda::shifted(l).first, lambda::Rows(tokens.v, keys));
  });
}

/// Only the query is turned, by the distance of each key; token by token from the cache.
inline void relative(const In& in, const Out& out) {
  lambda::from_cache(in, out, [&](Index position, Index key) { return distance(in, position, key); });
}

/// The tokens of the window at their own positions, and the sinks that it does not reach at theirs, against a query at
/// its position in the cache.
inline void masked_full(const In& in, const Out& out) {
  lambda::in_two_branches(
      in, out, [&](Index position, Index key) { return position - key < Policy::of(in).recent; },
      [&](Index position) { return place(in, position, position + 1); }, [](Index key) { return key; });
}

}  // namespace attest::reference::streaming::sink_attention
