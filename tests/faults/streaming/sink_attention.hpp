// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/sink_attention.hpp"
#include "faults/streaming/lambda_attention.hpp"

namespace attest::faults::streaming::sink_attention {

namespace right = attest::reference::streaming::sink_attention;
namespace lambda = lambda_attention;
namespace streams = attest::reference::streaming::lambda_attention;
using right::In;
using right::Out;
using right::Policy;
using right::Position;

inline void rotated_before_caching(const In& in, const Out& out) {
  if (in.position != Position::rotary) return right::rotate_at_use(in, out);
  lambda::cached_turned(in, out, [](Index p) { return p; });
}

inline void turned_once(const In& in, const Out& out) {
  if (in.position != Position::rotary) return right::rotate_at_use(in, out);
  lambda::cached_turned(in, out, [&](Index p) { return right::place(in, p, p + 1); });
}

inline void query_original_position(const In& in, const Out& out) {
  streams::by_distance(in, out,
                       [&](Index position, Index key) { return position - right::place(in, key, position + 1); });
}

/// With that kind of positions, distances are those in the text.
inline void in_the_text(const In& in, const Out& out, Position kind) {
  streams::by_distance(in, out, [&](Index position, Index key) {
    return in.position == kind ? position - key : right::distance(in, position, key);
  });
}

inline void sinks_original_distance(const In& in, const Out& out) { in_the_text(in, out, Position::rotary); }
inline void alibi_original_distance(const In& in, const Out& out) { in_the_text(in, out, Position::alibi); }

inline void positions_before_eviction(const In& in, const Out& out) {
  streams::by_distance(in, out, [&](Index position, Index key) {
    return std::min(position, Policy::of(in).rows()) - right::place(in, key, position + 1);
  });
}

inline void one_sink_dropped(const In& in, const Out& out) {
  lambda::with_visible(in, out, right::distance, [&](Index position, Index key) {
    return lambda::sees(in, position, key) && (key != in.sinks - 1 || key == position);
  });
}

inline void sinks_in_window(const In& in, const Out& out) {
  lambda::with_visible(in, out, right::distance,
                       [&](Index position, Index key) { return lambda::sees(in, position, key, -in.sinks); });
}

inline void separate_softmax(const In& in, const Out& out) {
  const right::Tokens tokens(in);
  streams::Scores<In> scores(in);
  streams::each_row(in, out, tokens, [&](Index i, const std::vector<Index>& keys) {
    std::vector<Index> sinks, recent;
    for (const Index t : keys) (tokens.positions[static_cast<std::size_t>(t)] < in.sinks ? sinks : recent).push_back(t);
    const auto mean = [&](const std::vector<Index>& some) {
      const auto l = scores(in.q[i], tokens.k, some, [&](Index t) {
        return right::distance(in, in.seen + i, tokens.positions[static_cast<std::size_t>(t)]);
      });
      return product(streams::shifted(l).first, streams::Rows(tokens.v, some));
    };
    if (sinks.empty() || recent.empty()) return mean(keys);
    const Vector a = mean(sinks), b = mean(recent);
    return tabulate(a.extent(), [&](Index c) { return (a(c) + b(c)) / 2; });
  });
}

inline void sink_evicted(const In& in, const Out& out) { lambda::first_evicted(in, out, right::distance); }
inline void second_eviction(const In& in, const Out& out) { lambda::second_eviction(in, out, right::distance); }
inline void cache_ignored(const In& in, const Out& out) { lambda::cache_ignored(in, out, right::distance); }
inline void cache_not_written(const In& in, const Out& out) {
  lambda::cache_not_written(in, out, right::rotate_at_use);
}
inline void order_ignored(const In& in, const Out& out) { lambda::order_ignored_of(in, out, right::rotate_at_use); }
inline void position_ignored(const In& in, const Out& out) { lambda::without_positions(in, out, right::rotate_at_use); }
inline void pairing_ignored(const In& in, const Out& out) { lambda::other_pairs(in, out, right::rotate_at_use); }
inline void slope_sign(const In& in, const Out& out) {
  lambda::with_factors(in, out, right::rotate_at_use, Number(1), Number(-1));
}
inline void scale_missing(const In& in, const Out& out) { lambda::scale_missing_of(in, out, right::rotate_at_use); }
inline void scale_ignored(const In& in, const Out& out) { lambda::scale_ignored_of(in, out, right::rotate_at_use); }
inline void scale_drift(const In& in, const Out& out, const Number& c) {
  lambda::with_factors(in, out, right::rotate_at_use, Number(1) + c, Number(1));
}

}  // namespace attest::faults::streaming::sink_attention
