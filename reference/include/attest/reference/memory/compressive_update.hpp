// SPDX-License-Identifier: MIT
#pragma once

#include <deque>

#include "attest/reference/memory/compress.hpp"
#include "attest/reference/memory/segment_recurrence.hpp"
#include "attest/spec/memory/compressive_update.hpp"

namespace attest::reference::memory::compressive_update {

using In = attest::spec::memory::compressive_update::In<Number>;
using Out = attest::spec::memory::compressive_update::Out<Number>;
using attest::spec::memory::compressive_update::Kind;
using attest::spec::memory::compressive_update::Remainder;
using segment_recurrence::joined;

/// Rows that `old` rows become.   C3, C4, C5
inline Index compressed_rows(const In& in, Index old) {
  return (old + (in.remainder == Remainder::pad_oldest_zero ? in.rate - 1 : 0)) / in.rate;
}

/// f(old), of a form of memory.compress.
template <class F>
Matrix compressed(const In& in, const View<const Number, 2>& old, F&& form) {
  Matrix y(compressed_rows(in, old.extent(0)), old.extent(1));
  if (y.extent(0) == 0) return y;
  form(compress::In{.x = old,
                    .w = in.w,
                    .b = in.bias,
                    .usage = {},
                    .kind = in.kind == Kind::mean  ? compress::Kind::mean
                            : in.kind == Kind::max ? compress::Kind::max
                                                   : compress::Kind::conv,
                    .rate = in.rate,
                    .dilation = 1,
                    .pad = 0,
                    .remainder = in.remainder},
       compress::Out{.y = y.view()});
  return stage("new compressed rows", y);
}

/// [memory; h], through which no gradient flows.
struct States {
  StoppedMatrix memory, h, compressed;
  Matrix all;

  explicit States(const In& in) : memory(in.memory), h(in.h), compressed(in.compressed), all(joined(memory, h)) {}
};

/// x_t = row(t)
template <class F>
void fill(const View<Number, 2>& x, F&& row) {
  for (const Index t : wanted(x)) {
    const Row from = row(t);
    for (Index a = 0; a < x.extent(1); ++a) x(t, a) = from(a);
  }
}

/// State after state; what does not fit leaves at the other end.      [Rae et al. 2020, algorithm 1]
inline void queues(const In& in, const Out& out) {
  const States states(in);
  const auto push = [](std::deque<Row>& queue, const Row& row, Index room, auto&& leaves) {
    queue.push_back(row);
    while (static_cast<Index>(queue.size()) > room) {
      leaves(queue.front());
      queue.pop_front();
    }
  };
  std::deque<Row> memory, slots;
  std::vector<Row> old;
  for (Index t = 0; t < states.all.extent(0); ++t)
    push(memory, states.all[t], out.memory.extent(0), [&](const Row& row) { old.push_back(row); });
  fill(out.old, [&](Index t) { return old[static_cast<std::size_t>(t)]; });
  fill(out.memory, [&](Index t) { return memory[static_cast<std::size_t>(t)]; });

  Matrix rows(static_cast<Index>(old.size()), in.h.extent(1));
  fill(rows.view(), [&](Index t) { return old[static_cast<std::size_t>(t)]; });
  const Matrix added = compressed(in, std::as_const(rows).view(), compress::loop);
  const Matrix all = joined(states.compressed, added);
  for (Index t = 0; t < all.extent(0); ++t) push(slots, all[t], out.compressed.extent(0), [](const Row&) {});
  fill(out.compressed, [&](Index t) { return slots[static_cast<std::size_t>(t)]; });
}

/// The last `slots` of some rows through a ring: row t is written into slot t mod slots. `lost(row)` is what a slot
/// held before.
template <class F>
std::vector<Index> through_ring(Index rows, Index slots, F&& lost) {
  std::vector<Index> ring(static_cast<std::size_t>(slots), -1);
  for (Index t = 0; t < rows; ++t) {
    if (slots == 0) {
      lost(t);
      continue;
    }
    Index& slot = ring[static_cast<std::size_t>(t % slots)];
    if (slot >= 0) lost(slot);
    slot = t;
  }
  if (slots > 0) std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(rows % slots), ring.end());
  return ring;
}

inline void ring_buffers(const In& in, const Out& out) {
  const States states(in);
  std::vector<Index> old;
  const auto memory = through_ring(states.all.extent(0), out.memory.extent(0), [&](Index t) { old.push_back(t); });
  fill(out.memory, [&](Index t) { return states.all[memory[static_cast<std::size_t>(t)]]; });
  fill(out.old, [&](Index t) { return states.all[old[static_cast<std::size_t>(t)]]; });
  Matrix rows(static_cast<Index>(old.size()), in.h.extent(1));
  fill(rows.view(), [&](Index t) { return states.all[old[static_cast<std::size_t>(t)]]; });
  const Matrix added = compressed(in, std::as_const(rows).view(), compress::reshape);
  const Matrix all = joined(states.compressed, added);
  const auto kept = through_ring(all.extent(0), out.compressed.extent(0), [](Index) {});
  fill(out.compressed, [&](Index t) { return all[kept[static_cast<std::size_t>(t)]]; });
}

/// Where each row stands in the sequence: old ones first, then the memory; compressed ones count from the end.
inline void whole_sequence(const In& in, const Out& out) {
  const States states(in);
  const Index e = out.old.extent(0);
  fill(out.old, [&](Index t) { return states.all[t]; });
  fill(out.memory, [&](Index t) { return states.all[e + t]; });
  const auto old = states.all.view().rows(0, e);
  const Matrix added =
      in.kind == Kind::max ? compressed(in, old, compress::loop) : compressed(in, old, compress::matrix);
  const Matrix all = joined(states.compressed, added);
  const Index lost = all.extent(0) - out.compressed.extent(0);
  fill(out.compressed, [&](Index t) { return all[lost + t]; });
}

}  // namespace attest::reference::memory::compressive_update
