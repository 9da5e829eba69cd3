// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/adaptive/early_exit.hpp"
#include "faults/fault.hpp"

namespace attest::faults::adaptive::early_exit {

namespace right = attest::reference::adaptive::early_exit;
using right::first_sure;
using right::In;
using right::Out;

/// The first layer for which something else holds.
template <class F>
void with_rule(const In& in, const Out& out, F&& sure) {
  right::each_token(out, [&](Index t) { return first_sure(in.c.extent(1), [&](Index n) { return sure(t, n); }); });
}
inline Index layer(const In& in, Index t) {
  return first_sure(in.c.extent(1), [&](Index n) { return right::sure(in, t, n); });
}

inline void strict(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return less(in.tau(n), in.c(t, n)); });
}
inline void below_threshold(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return !right::sure(in, t, n); });
}
inline void score_of_next_layer(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return !less(in.c(t, n + 1), in.tau(n)); });
}
inline void one_threshold(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return !less(in.c(t, n), in.tau(0)); });
}
inline void threshold_of_previous_layer(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return !less(in.c(t, n), in.tau(std::max<Index>(n - 1, 0))); });
}
inline void first_layer_skipped(const In& in, const Out& out) {
  with_rule(in, out, [&](Index t, Index n) { return n > 0 && right::sure(in, t, n); });
}
inline void cumulative(const In& in, const Out& out) {
  with_rule(in, out,
            [&](Index t, Index n) { return !less(sum(n + 1, [&](Index m) { return in.c(t, m); }), in.tau(n)); });
}

inline void argmax_confidence(const In& in, const Out& out) {
  right::each_token(out, [&](Index t) {
    Index best = 0;
    for (Index n = 1; n < in.c.extent(1); ++n)
      if (less(in.c(t, best), in.c(t, n))) best = n;
    return best;
  });
}
inline void last_crossing(const In& in, const Out& out) {
  right::each_token(out, [&](Index t) {
    Index last = in.c.extent(1) - 1;
    for (Index n = 0; n + 1 < in.c.extent(1); ++n)
      if (right::sure(in, t, n)) last = n;
    return last;
  });
}
inline void off_by_one_layer(const In& in, const Out& out) {
  right::each_token(out, [&](Index t) { return layer(in, t) - 1; });
}
inline void one_layer_late(const In& in, const Out& out) {
  right::each_token(out, [&](Index t) { return std::min(layer(in, t) + 1, in.c.extent(1) - 1); });
}

/// Another layer where no layer before the last is sure.
inline void none_means(const In& in, const Out& out, Index instead) {
  const Index last = in.c.extent(1) - 1;
  right::each_token(out, [&](Index t) {
    const Index n = layer(in, t);
    return n == last && !right::sure(in, t, last) ? instead : n;
  });
}
inline void none_means_first(const In& in, const Out& out) { none_means(in, out, 0); }
inline void none_means_beyond(const In& in, const Out& out) { none_means(in, out, in.c.extent(1)); }

inline void first_token_for_all(const In& in, const Out& out) {
  right::each_token(out, [&](Index) { return layer(in, 0); });
}
inline void all_leave_together(const In& in, const Out& out) {
  Index first = in.c.extent(1);
  for (Index t = 0; t < in.c.extent(0); ++t) first = std::min(first, layer(in, t));
  right::each_token(out, [&](Index) { return first; });
}
inline void all_wait(const In& in, const Out& out) {
  Index last = 0;
  for (Index t = 0; t < in.c.extent(0); ++t) last = std::max(last, layer(in, t));
  right::each_token(out, [&](Index) { return last; });
}

}  // namespace attest::faults::adaptive::early_exit
