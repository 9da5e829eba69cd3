// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/memory/compressive_update.hpp"
#include "faults/fault.hpp"

namespace attest::faults::memory::compressive_update {

namespace right = attest::reference::memory::compressive_update;
namespace compress = attest::reference::memory::compress;
using attest::spec::memory::compressive_update::Kind;
using attest::spec::memory::compressive_update::Remainder;
using right::compressed;
using right::fill;
using right::In;
using right::joined;
using right::Out;
using right::States;

inline View<const Number, 2> last(const View<const Number, 2>& x, Index count) {
  return x.rows(x.extent(0) - count, count);
}

/// The equation with other old rows, another memory, and compressed rows of `all(old)`, of which the last are kept.
template <class F>
void with(const Out& out, const View<const Number, 2>& old, const View<const Number, 2>& memory, F&& all) {
  fill(out.old, [&](Index t) { return old[t]; });
  fill(out.memory, [&](Index t) { return memory[t]; });
  const Matrix rows = all(old);
  const auto kept = last(rows, out.compressed.extent(0));
  fill(out.compressed, [&](Index t) { return kept[t]; });
}

/// What becomes of the compressed memory as it should.
inline auto appended(const In& in, const States& states) {
  return
      [&](const View<const Number, 2>& old) { return joined(states.compressed, compressed(in, old, compress::loop)); };
}

inline View<const Number, 2> oldest(const States& states, Index count) { return states.all.view().rows(0, count); }

inline void newest_compressed(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, last(states.all, e), oldest(states, p), appended(in, states));
}

inline void duplicated(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, states.all.view().rows(std::min(e, p), e), last(states.all, p), appended(in, states));
}

inline void cmem_not_truncated(const In& in, const Out& out) {
  right::queues(in, out);
  const States states(in);
  const Matrix all = appended(in, states)(oldest(states, out.old.extent(0)));
  fill(out.compressed, [&](Index t) { return all[t]; });
}

inline void cmem_prepended(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    return joined(compressed(in, old, compress::loop), states.compressed);
  });
}

inline void whole_memory_compressed(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>&) {
    In other = in;
    if (in.remainder == Remainder::error) other.remainder = Remainder::drop_newest;
    return joined(states.compressed, compressed(other, states.all, compress::loop));
  });
}

inline void fifo_reversed(const In& in, const Out& out) {
  right::queues(in, out);
  const States states(in);
  fill(out.memory, [&](Index t) { return states.all[states.all.extent(0) - 1 - t]; });
}

inline void segment_in_front(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  const Matrix all = joined(states.h, states.memory);
  with(out, all.view().rows(0, e), last(all, p), appended(in, states));
}

inline void old_before_segment(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0), a = in.memory.extent(0);
  const auto old = e <= a ? states.all.view().rows(a - e, e) : oldest(states, e);
  with(out, old, last(states.all, p), appended(in, states));
}

inline void sum_pool(const In& in, const Out& out) {
  if (in.kind != Kind::mean) return right::queues(in, out);
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    const Matrix means = compressed(in, old, compress::loop);
    return joined(states.compressed,
                  matrix_of(means.extent(0), means.extent(1), [&](Index r, Index c) { return in.rate * means(r, c); }));
  });
}

inline void flipped_kernel(const In& in, const Out& out) {
  if (in.kind != Kind::conv) return right::queues(in, out);
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  In other = in;
  other.w = {};
  std::vector<Number> taps;
  for (Index t = in.w.extent(0); t-- > 0;)
    for (Index i = 0; i < in.w.extent(1); ++i)
      for (Index j = 0; j < in.w.extent(2); ++j) taps.push_back(in.w(t, i, j));
  other.w = View<const Number, 3>(taps.data(), in.w.extents());
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    return joined(states.compressed, compressed(other, old, compress::loop));
  });
}

inline void oldest_dropped(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  const Index dropped = in.remainder == Remainder::drop_newest ? e % in.rate : 0;
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    return joined(states.compressed, compressed(in, last(old, e - dropped), compress::loop));
  });
}

inline void stop_gradient_missing(const In& in, const Out& out) {
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  const Matrix all = joined(in.memory, in.h);
  with(out, all.view().rows(0, e), last(all, p),
       [&](const View<const Number, 2>& old) { return joined(in.compressed, compressed(in, old, compress::loop)); });
}

inline void compression_detached(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    const Matrix rows = compressed(in, old, compress::loop);
    const StoppedMatrix stopped(rows);
    return joined(states.compressed, stopped);
  });
}

inline void mean_drift(const In& in, const Out& out, const Number& c) {
  const States states(in);
  const Index e = out.old.extent(0), p = out.memory.extent(0);
  with(out, oldest(states, e), last(states.all, p), [&](const View<const Number, 2>& old) {
    const Matrix rows = compressed(in, old, compress::loop);
    return joined(states.compressed, matrix_of(rows.extent(0), rows.extent(1),
                                               [&](Index r, Index a) { return rows(r, a) * (Number(1) + c); }));
  });
}

}  // namespace attest::faults::memory::compressive_update
