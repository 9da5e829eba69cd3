// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/compress.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::compress {

namespace right = attest::reference::memory::compress;
using attest::spec::memory::compress::Kind;
using attest::spec::memory::compress::Remainder;
using right::each_entry;
using right::entry;
using right::In;
using right::Out;
using Rows = std::vector<Index>;

/// The equation of those rows, with as many of them as `rows(r)` gives; most_used as it is.
template <class F>
void with_rows(const In& in, const Out& out, F&& rows) {
  if (in.kind == Kind::most_used) return right::most_used(in, out);
  each_entry(in, out, [&](Index r, Index a) {
    const Rows of = rows(r);
    const Index count = static_cast<Index>(of.size());
    const auto x = [&](Index t) { return entry(in, of[static_cast<std::size_t>(t)], a); };
    return in.kind == Kind::mean  ? right::mean(count, x)
           : in.kind == Kind::max ? right::largest(count, x)
                                  : right::convolved(in, of, a);
  });
}

inline Rows due(const In& in, const Out& out, Index r) { return right::rows_of(in, out.y.extent(0), r); }
inline bool convolves(const In& in) { return in.kind == Kind::conv || in.kind == Kind::dilated_conv; }

inline void flipped_kernel(const In& in, const Out& out) {
  with_rows(in, out, [&](Index r) {
    Rows rows = due(in, out, r);
    std::reverse(rows.begin(), rows.end());
    return rows;
  });
}

inline void stride_one(const In& in, const Out& out) {
  with_rows(in, out, [&](Index r) {
    Rows rows = due(in, out, 0);
    for (Index& row : rows)
      if (row >= 0) row = std::min(row + r, in.x.extent(0) - 1);
    return rows;
  });
}

inline void sum_pool(const In& in, const Out& out) {
  if (in.kind != Kind::mean) return right::loop(in, out);
  each_entry(in, out, [&](Index r, Index a) {
    const Rows rows = due(in, out, r);
    return sum(in.rate, [&](Index t) { return entry(in, rows[static_cast<std::size_t>(t)], a); });
  });
}

inline void ceil_length(const In& in, const Out& out) {
  const Index n = in.x.extent(0), g = out.y.extent(0);
  if (g == 0 || (in.kind != Kind::mean && in.kind != Kind::max)) return right::loop(in, out);
  const Index length = (n + g - 1) / g;
  with_rows(in, out, [&](Index r) {
    Rows rows;
    for (Index i = std::min(r * length, n - 1); i < std::min((r + 1) * length, n); ++i) rows.push_back(i);
    if (rows.empty()) rows.push_back(n - 1);
    return rows;
  });
}

inline void feature_pool(const In& in, const Out& out) {
  if (in.kind != Kind::mean && in.kind != Kind::max) return right::loop(in, out);
  const Index d = in.x.extent(1);
  each_entry(in, out, [&](Index r, Index a) {
    const Rows rows = due(in, out, r);
    const auto x = [&](Index t) {
      const Index flat = a * in.rate + t;
      return entry(in, rows[static_cast<std::size_t>(flat / d)], flat % d);
    };
    return in.kind == Kind::mean ? right::mean(in.rate, x) : right::largest(in.rate, x);
  });
}

/// most_used with other rows, the equation elsewhere.
template <class F>
void with_kept(const In& in, const Out& out, F&& kept) {
  if (in.kind != Kind::most_used) return right::loop(in, out);
  const Rows rows = kept();
  each_entry(in, out, [&](Index r, Index a) { return in.x(rows[static_cast<std::size_t>(r)], a); });
}

inline Vector usage(const In& in, const Number& factor) {
  return tabulate(in.usage.extent(0), [&](Index i) { return factor * in.usage(i); });
}

inline void most_used_sorted_by_usage(const In& in, const Out& out) {
  with_kept(in, out, [&] {
    Rows rows = top_k(out.y.extent(0), usage(in, 1));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](Index a, Index b) { return approximate(in.usage(a)) > approximate(in.usage(b)); });
    return rows;
  });
}

inline void least_used(const In& in, const Out& out) {
  with_kept(in, out, [&] { return top_k(out.y.extent(0), usage(in, -1)); });
}

inline void oldest_dropped(const In& in, const Out& out) {
  const Index dropped = in.remainder == Remainder::drop_newest ? in.x.extent(0) - out.y.extent(0) * in.rate : 0;
  with_rows(in, out, [&](Index r) {
    Rows rows = due(in, out, r);
    for (Index& row : rows)
      if (row >= 0) row += dropped;
    return rows;
  });
}

/// Taps of dilated_conv that reach beyond the last block read what is there.
inline void dropped_rows_read(const In& in, const Out& out) {
  if (in.kind != Kind::dilated_conv) return right::loop(in, out);
  const Index n = in.x.extent(0), before = right::padding(in, out.y.extent(0));
  const right::Taps taps(in);
  with_rows(in, out, [&](Index r) {
    Rows rows;
    for (Index t = 0; t < taps.count; ++t) {
      const Index row = r * in.rate - before + taps.first + t * taps.apart;
      rows.push_back(row < 0 || row >= n ? -1 : row);
    }
    return rows;
  });
}

inline void newest_padded(const In& in, const Out& out) {
  const Index g = out.y.extent(0), first = right::padding(in, g), n = in.x.extent(0);
  const bool pooled = !convolves(in);
  const right::Taps taps(in);
  with_rows(in, out, [&](Index r) {
    if (first == 0) return due(in, out, r);
    Rows rows;
    for (Index t = 0; t < (pooled ? in.rate : taps.count); ++t) {
      const Index row = r * in.rate + (pooled ? t : taps.first + t * taps.apart);
      rows.push_back(row < 0 || row >= n ? -1 : row);
    }
    return rows;
  });
}

inline void padding_not_counted(const In& in, const Out& out) {
  if (in.kind != Kind::mean) return right::loop(in, out);
  with_rows(in, out, [&](Index r) {
    Rows rows = due(in, out, r);
    std::erase(rows, -1);
    return rows;
  });
}

inline void largest_magnitude(const In& in, const Out& out) {
  if (in.kind != Kind::max) return right::loop(in, out);
  const auto magnitude = [](const Number& x) { return positive(x) ? x : -x; };
  each_entry(in, out, [&](Index r, Index a) {
    const Rows rows = due(in, out, r);
    Number best = entry(in, rows[0], a);
    for (const Index row : rows) {
      Number next = entry(in, row, a);
      if (less(magnitude(best), magnitude(next))) best = std::move(next);
    }
    return best;
  });
}

inline void weights_transposed(const In& in, const Out& out) {
  if (!convolves(in)) return right::loop(in, out);
  each_entry(in, out, [&](Index r, Index a) {
    const Rows rows = due(in, out, r);
    Number y = in.b(a);
    for (std::size_t t = 0; t < rows.size(); ++t)
      for (Index c = 0; c < in.x.extent(1); ++c) y += entry(in, rows[t], c) * in.w(static_cast<Index>(t), a, c);
    return y;
  });
}

inline void bias_missing(const In& in, const Out& out) {
  if (!convolves(in)) return right::loop(in, out);
  each_entry(in, out, [&](Index r, Index a) {
    const Rows rows = due(in, out, r);
    return sum(static_cast<Index>(rows.size()), [&](Index t) {
      return sum(in.x.extent(1),
                 [&](Index c) { return entry(in, rows[static_cast<std::size_t>(t)], c) * in.w(t, c, a); });
    });
  });
}

inline void dilation_ignored(const In& in, const Out& out) {
  In other = in;
  other.dilation = 1;
  right::loop(other, out);
}

inline void pad_ignored(const In& in, const Out& out) {
  In other = in;
  other.pad = 0;
  right::loop(other, out);
}

inline void pad_repeats_edge(const In& in, const Out& out) {
  if (in.kind != Kind::dilated_conv) return right::loop(in, out);
  const Index g = out.y.extent(0), padding = right::padding(in, g), last = g * in.rate - padding - 1;
  const right::Taps taps(in);
  with_rows(in, out, [&](Index r) {
    Rows rows;
    for (Index t = 0; t < taps.count; ++t)
      rows.push_back(std::clamp<Index>(r * in.rate - padding + taps.first + t * taps.apart, 0, last));
    return rows;
  });
}

inline void mean_drift(const In& in, const Out& out, const Number& c) {
  right::loop(in, out);
  if (in.kind == Kind::mean || convolves(in))
    each_entry(in, out, [&](Index r, Index a) { return out.y(r, a) * (Number(1) + c); });
}

}  // namespace attest::faults::memory::compress
