// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/vocabulary.hpp"
#include "attest/spec/memory/compress.hpp"

namespace attest::reference::memory::compress {

using In = attest::spec::memory::compress::In<Number>;
using Out = attest::spec::memory::compress::Out<Number>;
using attest::spec::memory::compress::Kind;
using attest::spec::memory::compress::Remainder;

/// Zeros before the oldest row.   C3, C5
inline Index padding(const In& in, Index g) {
  return in.remainder == Remainder::pad_oldest_zero ? g * in.rate - in.x.extent(0) : 0;
}

/// Taps of a convolution: how many, how far apart, and where the first lies beside the first row of a block.
struct Taps {
  Index count, apart, first;

  explicit Taps(const In& in)
      : count(in.w.extent(0)),
        apart(in.kind == Kind::conv ? 1 : in.dilation),
        first(in.kind == Kind::conv ? 0 : -in.pad) {}
};

/// The rows that result r is made of, oldest first; -1 stands for a row of zeros.
inline std::vector<Index> rows_of(const In& in, Index g, Index r) {
  const bool pooled = in.kind == Kind::mean || in.kind == Kind::max;
  const Taps taps(in);
  const Index start = r * in.rate - padding(in, g), n = g * in.rate - padding(in, g);  // newer rows are dropped
  std::vector<Index> rows;
  for (Index t = 0; t < (pooled ? in.rate : taps.count); ++t) {
    const Index row = pooled ? start + t : start + taps.first + t * taps.apart;
    rows.push_back(row < 0 || row >= n ? -1 : row);
  }
  return rows;
}

/// x_row,a
inline Number entry(const In& in, Index row, Index a) { return row < 0 ? Number(0) : in.x(row, a); }

/// The largest of f(0) .. f(n - 1), the first of equal ones; n >= 1.
template <class F>
Number largest(Index n, F&& f) {
  Number best = f(Index{0});
  for (Index t = 1; t < n; ++t) best = larger(f(t), best);
  return best;
}

/// The g rows of the largest usage, in their order.
inline void most_used(const In& in, const Out& out) {
  const auto kept = top_k(out.y.extent(0), tabulate(in.usage.extent(0), [&](Index i) { return in.usage(i); }));
  for (const Index r : wanted(out.y))
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(r, a) = in.x(kept[static_cast<std::size_t>(r)], a);
}

/// Every form: y_ra = result(r, a).
template <class F>
void each_entry(const In& in, const Out& out, F&& result) {
  for (const Index r : wanted(out.y))
    for (Index a = 0; a < in.x.extent(1); ++a) out.y(r, a) = result(r, a);
}

/// (1 / count) sum_t f(t)
template <class F>
Number mean(Index count, F&& f) {
  return sum(count, f) / count;
}

/// b + sum_t x_row(t) w_t, tap by tap
inline Number convolved(const In& in, const std::vector<Index>& rows, Index a) {
  Number y = in.b(a);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto row = tabulate(in.x.extent(1), [&](Index c) { return entry(in, rows[t], c); });
    y = dot(row, in.w[static_cast<Index>(t)].column(a), y);
  }
  return y;
}

/// Row by row.      [Rae et al. 2020, section 3.2]
inline void loop(const In& in, const Out& out) {
  if (in.kind == Kind::most_used) return most_used(in, out);
  each_entry(in, out, [&](Index r, Index a) {
    const auto rows = rows_of(in, out.y.extent(0), r);
    const auto x = [&](Index t) { return entry(in, rows[static_cast<std::size_t>(t)], a); };
    return in.kind == Kind::mean  ? mean(in.rate, x)
           : in.kind == Kind::max ? largest(in.rate, x)
                                  : convolved(in, rows, a);
  });
}

/// The memory with its padding, g blocks of `rate` rows, as a matrix.
inline Matrix padded(const In& in, Index g) {
  const Index first = padding(in, g);
  Matrix x(g * in.rate, in.x.extent(1));
  for (Index i = 0; i < x.extent(0); ++i)
    for (Index a = 0; a < x.extent(1); ++a) x(i, a) = entry(in, i - first, a);
  return x;
}

/// The taps on top of each other, [k d, d].
inline Matrix stacked(const In& in) {
  const Index d = in.x.extent(1);
  Matrix w(in.w.extent(0) * d, d);
  for (Index i = 0; i < w.extent(0); ++i)
    for (Index a = 0; a < d; ++a) w(i, a) = in.w(i / d, i % d, a);
  return w;
}

/// A block of the padded memory is a run of rate d numbers.
inline void reshape(const In& in, const Out& out) {
  const Index g = out.y.extent(0), d = in.x.extent(1);
  const Matrix x = padded(in, g), w = in.kind == Kind::conv ? stacked(in) : Matrix(0, 0);
  each_entry(in, out, [&](Index r, Index a) {
    const auto block = x.view().rows(r * in.rate, in.rate);
    if (in.kind == Kind::conv) {
      const auto run = tabulate(in.rate * d, [&](Index t) { return block(t / d, t % d); });
      return dot(run, w.column(a), in.b(a));
    }
    const auto entry_of = [&](Index t) { return block(t, a); };
    return in.kind == Kind::mean ? mean(in.rate, entry_of) : largest(in.rate, entry_of);
  });
}

/// y = b + E vec(x): row (r, a) of E has a block of w_t, or 1 / rate, where a result needs an entry, and 0 elsewhere.
/// E is banded: a row of it is multiplied from its first block to its last.
inline void matrix(const In& in, const Out& out) {
  const Index g = out.y.extent(0), n = in.x.extent(0), d = in.x.extent(1);
  const Number share = 1 / Number(in.rate);
  each_entry(in, out, [&](Index r, Index a) {
    const auto rows = rows_of(in, g, r);
    Index first = n, last = -1;
    for (const Index row : rows)
      if (row >= 0) first = std::min(first, row), last = std::max(last, row);
    const Index band = std::max<Index>(last - first + 1, 0) * d;
    const auto x = tabulate(band, [&](Index i) { return in.x(first + i / d, i % d); });
    Vector e(band);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      if (rows[t] < 0) continue;
      const Index start = (rows[t] - first) * d;
      if (in.kind == Kind::mean)
        e(start + a) = share;
      else
        for (Index c = 0; c < d; ++c) e(start + c) = in.w(static_cast<Index>(t), c, a);
    }
    return in.kind == Kind::mean ? dot(x, e) : dot(x, e, in.b(a));
  });
}

/// The rows of a result side by side, [g, k d], times the stacked taps.
inline void im2col(const In& in, const Out& out) {
  const Index g = out.y.extent(0), d = in.x.extent(1);
  const Matrix w = stacked(in);
  each_entry(in, out, [&](Index r, Index a) {
    const auto rows = rows_of(in, g, r);
    const auto run =
        tabulate(w.extent(0), [&](Index t) { return entry(in, rows[static_cast<std::size_t>(t / d)], t % d); });
    return dot(run, w.column(a), in.b(a));
  });
}

}  // namespace attest::reference::memory::compress
