// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/streaming/sink_cache.hpp"

namespace attest::reference::streaming::sink_cache {

using In = attest::spec::streaming::sink_cache::In<Number>;
using Out = attest::spec::streaming::sink_cache::Out<Number>;

/// The place in the text of the token in each row that holds one.
using Kept = std::vector<Index>;

inline Index rows(const In& in) { return in.cache.extent(0); }

/// {0 .. min(sinks, T) - 1} + {max(sinks, T - recent) .. T - 1}
inline Kept kept_of(Index T, Index sinks, Index recent) {
  Kept kept;
  for (Index p = 0; p < std::min(sinks, T); ++p) kept.push_back(p);
  for (Index p = std::max(sinks, T - recent); p < T; ++p) kept.push_back(p);
  return kept;
}

/// The cache whose rows hold those tokens, `before` being what it held; position(r) of its r-th token.
template <class F>
void write(const In& in, const Out& out, const Kept& before, const Kept& kept, F&& position) {
  const Index count = static_cast<Index>(kept.size());
  for (Index r = 0; r < rows(in); ++r) {
    const Index p = r < count ? kept[static_cast<std::size_t>(r)] : -1;
    const Index row = p < in.seen ? std::find(before.begin(), before.end(), p) - before.begin() : 0;
    for (Index c = 0; c < in.x.extent(1); ++c)
      out.cache(r, c) = p < 0 ? in.cache(r, c) : p < in.seen ? in.cache(row, c) : in.x(p - in.seen, c);
    if (out.kept) out.kept(r) = stored(Number(p));
    if (out.positions) out.positions(r) = stored(Number(r < count ? position(r) : Index{-1}));
  }
}

inline Kept before_of(const In& in) { return kept_of(in.seen, in.sinks, rows(in) - in.sinks); }

inline void direct(const In& in, const Out& out) {
  write(in, out, before_of(in), kept_of(in.seen + in.x.extent(0), in.sinks, rows(in) - in.sinks),
        [](Index r) { return r; });
}

/// Append; where there is no room, the oldest that is no sink leaves first.
inline void incremental(const In& in, const Out& out) {
  const Kept before = before_of(in);
  Kept kept = before;
  for (Index i = 0; i < in.x.extent(0); ++i) {
    if (static_cast<Index>(kept.size()) == rows(in)) kept.erase(kept.begin() + in.sinks);
    kept.push_back(in.seen + i);
  }
  write(in, out, before, kept, [](Index r) { return r; });
}

}  // namespace attest::reference::streaming::sink_cache
