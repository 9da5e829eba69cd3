// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/streaming/sink_cache.hpp"
#include "faults/fault.hpp"

namespace attest::faults::streaming::sink_cache {

namespace right = attest::reference::streaming::sink_cache;
using right::In;
using right::Kept;
using right::Out;

inline Index tokens(const In& in) { return in.seen + in.x.extent(0); }
inline Index recent(const In& in) { return right::rows(in) - in.sinks; }
inline Kept kept(const In& in) { return right::kept_of(tokens(in), in.sinks, recent(in)); }

/// Other positions of the tokens that are rightly kept.
template <class F>
void with_positions(const In& in, const Out& out, F&& position) {
  right::write(in, out, right::before_of(in), kept(in), position);
}

/// Other tokens are kept. Of those that the cache before does not hold, row 0 stands in.
inline void with_kept(const In& in, const Out& out, const Kept& kept) {
  Kept before = right::before_of(in);
  const Index count = static_cast<Index>(before.size());
  for (const Index p : kept)
    if (p < in.seen && std::find(before.begin(), before.begin() + count, p) == before.begin() + count) {
      Kept at_row_0 = before;
      at_row_0[0] = p;
      return right::write(in, out, at_row_0, kept, [](Index r) { return r; });
    }
  right::write(in, out, before, kept, [](Index r) { return r; });
}

inline void original_positions(const In& in, const Out& out) {
  const Kept all = kept(in);
  with_positions(in, out, [&](Index r) { return all[static_cast<std::size_t>(r)]; });
}

inline void restart_window_positions(const In& in, const Out& out) {
  with_positions(in, out, [&](Index r) { return r < in.sinks ? r : r - in.sinks; });
}

inline void positions_from_one(const In& in, const Out& out) {
  with_positions(in, out, [](Index r) { return r + 1; });
}

/// A policy that appends and, where there is no room, drops row drop(kept).
template <class F>
void appending(const In& in, const Out& out, F&& drop) {
  Kept before = right::before_of(in), all = before;
  for (Index i = 0; i < in.x.extent(0); ++i) {
    if (static_cast<Index>(all.size()) == right::rows(in)) all.erase(all.begin() + drop(all));
    all.push_back(in.seen + i);
  }
  right::write(in, out, before, all, [](Index r) { return r; });
}

inline void sinks_evicted(const In& in, const Out& out) {
  appending(in, out, [](const Kept&) { return Index{0}; });
}

inline void last_sink_evicted(const In& in, const Out& out) {
  appending(in, out, [&](const Kept&) { return std::max<Index>(0, in.sinks - 1); });
}

inline void second_eviction(const In& in, const Out& out) {
  appending(in, out, [&](const Kept& all) {
    return all.back() + 1 > right::rows(in) ? static_cast<Index>(all.size()) - 1 : in.sinks;
  });
}

inline void window_counts_sinks(const In& in, const Out& out) {
  with_kept(in, out, right::kept_of(tokens(in), in.sinks, std::max<Index>(1, recent(in) - in.sinks)));
}

inline void newest_excluded(const In& in, const Out& out) {
  if (tokens(in) < 2) return right::direct(in, out);
  with_kept(in, out, right::kept_of(tokens(in) - 1, in.sinks, recent(in)));
}

inline void sinks_appended_last(const In& in, const Out& out) {
  Kept all = kept(in);
  std::rotate(all.begin(), all.begin() + std::min<Index>(in.sinks, static_cast<Index>(all.size())), all.end());
  right::write(in, out, right::before_of(in), all, [](Index r) { return r; });
}

inline void rows_in_a_ring(const In& in, const Out& out) {
  Kept all = kept(in);
  for (const Index p : kept(in))
    if (p >= in.sinks) all[static_cast<std::size_t>(in.sinks + (p - in.sinks) % recent(in))] = p;
  right::write(in, out, right::before_of(in), all, [](Index r) { return r; });
}

inline void long_call_keeps_first(const In& in, const Out& out) {
  Kept before = right::before_of(in), all = before;
  const Index count = std::min(in.x.extent(0), recent(in));
  for (Index i = 0; i < count; ++i) {
    if (static_cast<Index>(all.size()) == right::rows(in)) all.erase(all.begin() + in.sinks);
    all.push_back(in.seen + i);
  }
  right::write(in, out, before, all, [](Index r) { return r; });
}

/// The right rows, then change(row, place in the text).
template <class F>
void changed(const In& in, const Out& out, F&& change) {
  right::direct(in, out);
  const Kept all = kept(in);
  for (Index r = 0; r < right::rows(in); ++r)
    for (Index c = 0; c < in.x.extent(1); ++c)
      out.cache(r, c) =
          change(out.cache(r, c), r < static_cast<Index>(all.size()) ? all[static_cast<std::size_t>(r)] : -1);
}

inline void cache_forgotten(const In& in, const Out& out) {
  changed(in, out, [&](const Number& x, Index p) { return p >= 0 && p < in.seen ? Number(0) : x; });
}

inline void unwritten_rows_zeroed(const In& in, const Out& out) {
  changed(in, out, [](const Number& x, Index p) { return p < 0 ? Number(0) : x; });
}

}  // namespace attest::faults::streaming::sink_cache
