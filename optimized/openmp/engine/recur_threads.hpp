// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "attest/openmp/tasks.hpp"
#include "openmp/engine/memory.hpp"
#include "openmp/engine/recur_leaves.hpp"

/// The threads of the recur engine: tiles of queries, columns of values, spans of tokens. What is split, and in which
/// order parts are added up, depends on sizes alone.
namespace attest::openmp::engine {

/// Tokens of a tile, in products under a mask: more mean more pairs, fewer mean that the state is loaded and stored
/// more often.
constexpr Index kTokens = 24;

/// Below this many multiplications threads cost more than they save.
constexpr Index kEnoughOfRecurrence = 1 << 17;

/// So many columns in whole vectors.
template <class T>
Index padded(const RecurLeaves<T>& leaves, Index width) {
  return (width + leaves.lanes - 1) / leaves.lanes * leaves.lanes;
}

/// The shape of a state, without memory.
template <class T>
State<T> state_of(const RecurLeaves<T>& leaves, const Recurrence<T>& in) {
  return {nullptr, in.k.extent(1), padded(leaves, in.v.extent(1)), padded(leaves, in.k.extent(1))};
}

/// What is carried from before.
template <class T>
void load(const Recurrence<T>& in, State<T> state) {
  if (!in.S || in.S.extent(1) < state.width) std::fill_n(state.S, state.features * state.width, T(0));
  std::fill_n(state.z(), state.z_size, T(0));
  if (in.S)
    for (Index a = 0; a < state.features; ++a) {
      const T* row = in.S.data() + a * in.S.stride(0);
      T* to = state.S + a * state.width;
      if (in.S.stride(1) == 1)
        std::copy_n(row, in.S.extent(1), to);
      else
        for (Index b = 0; b < in.S.extent(1); ++b) to[b] = row[b * in.S.stride(1)];
    }
  if (in.z)
    for (Index a = 0; a < state.features; ++a) state.z()[a] = in.z(a);
}

/// A state in `memory`, with what is carried from before.
template <class T>
State<T> loaded(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Memory<T>& memory) {
  State<T> state = state_of(leaves, in);
  state.S = memory.of(state.size());
  load(in, state);
  return state;
}

template <class T>
void save(const Recurrence<T>& in, State<T> state) {
  if (in.S_after)
    for (Index a = 0; a < state.features; ++a)
      for (Index b = 0; b < in.S_after.extent(1); ++b) in.S_after(a, b) = state.S[a * state.width + b];
  if (in.z_after)
    for (Index a = 0; a < state.features; ++a) in.z_after(a) = state.z()[a];
}

template <class T>
bool wants_state(const Recurrence<T>& in) {
  return in.S_after || in.z_after;
}

template <class T>
bool enough(const Recurrence<T>& in) {
  return std::max(in.q.extent(0), in.k.extent(0)) * in.k.extent(1) * in.v.extent(1) > kEnoughOfRecurrence;
}

/// States of spans of `length` tokens, each its own, in parallel; the states before them, from `first` on, in order;
/// `total` behind the last. They lie in `memory`.
template <class T>
class Spans {
public:
  Spans(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Index length)
      : n_(in.k.extent(0)), length_(std::max<Index>(length, 1)), count_((n_ + length_ - 1) / length_) {
    shape_ = state_of(leaves, in);
    data_ = memory_.of((count_ + 1) * shape_.size());
    load(in, state(0));
    each_task(count_, enough(in), [&](Index t) {
      std::fill_n(state(t + 1).S, shape_.size(), T(0));
      leaves.walk(in, first(t), tokens(t), kTokens, false, true, state(t + 1),
                  scratch<T>(leaves.scratch_size(in, kTokens)));
    });
    for (Index t = 1; t <= count_; ++t) {
      const T* before = state(t - 1).S;
      T* sum = state(t).S;
      for (Index i = 0; i < shape_.size(); ++i) sum[i] += before[i];
    }
  }
  Index count() const { return count_; }
  Index first(Index t) const { return t * length_; }
  Index tokens(Index t) const { return std::min(length_, n_ - first(t)); }
  /// Before span t.
  State<T> state(Index t) const {
    State<T> at = shape_;
    at.S = data_ + t * shape_.size();
    return at;
  }
  State<T> total() const { return state(count_); }

private:
  Index n_, length_, count_;
  State<T> shape_;
  Memory<T> memory_;
  T* data_;
};

/// Whole chunks of a span, so that there are not more than 16 spans.
inline Index span_of(Index chunk, Index n) {
  constexpr Index kSpans = 16;
  return chunk * std::max<Index>(1, (n + kSpans * chunk - 1) / (kSpans * chunk));
}

/// Tiles of queries, each with the keys that it sees.
template <class T>
void answer_tiles(const RecurLeaves<T>& leaves, const Recurrence<T>& in, See see, State<T> state) {
  const Index n = in.q.extent(0), tiles = (n + kTokens - 1) / kTokens;
  each_task(tiles, enough(in), [&](Index t) {
    const Index first = (tiles - 1 - t) * kTokens;  // causal: the longest rows begin
    leaves.answer(in, first, std::min(kTokens, n - first), kTokens, see, state,
                  scratch<T>(leaves.scratch_size(in, kTokens)));
  });
}

/// The state itself walks through all tokens, `tile` at a time.
template <class T>
void walk_through(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Index tile) {
  Memory<T> memory;
  const State<T> state = loaded(leaves, in, memory);
  leaves.walk(in, 0, in.k.extent(0), tile, static_cast<bool>(in.o), wants_state(in), state,
              scratch<T>(leaves.scratch_size(in, tile)));
  save(in, state);
}

/// Columns of values are independent: each part walks through all tokens with its own, and with all of z.
template <class T>
void walk_by_columns(const RecurLeaves<T>& leaves, const Recurrence<T>& in) {
  const Index m = in.v.extent(1), part = 2 * leaves.lanes, parts = (m + part - 1) / part;
  each_task(parts, enough(in), [&](Index t) {
    const Index first = t * part, columns = std::min(part, m - first);
    Recurrence<T> own = in;
    own.v = in.v.columns(first, columns);
    if (in.o) own.o = in.o.columns(first, columns);
    if (in.S) own.S = in.S.columns(first, columns);
    if (in.S_after) own.S_after = in.S_after.columns(first, columns);
    if (t > 0) own.z_after = {};
    walk_through(leaves, own, 1);
  });
}

template <class T>
void run_two_level(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Index chunk) {
  const Spans<T> spans(leaves, in, span_of(chunk, in.k.extent(0)));
  save(in, spans.total());
  each_task(spans.count(), enough(in), [&](Index t) {
    const Index tile = std::min(chunk, kTokens);
    leaves.walk(in, spans.first(t), spans.tokens(t), tile, true, false, spans.state(t),
                scratch<T>(leaves.scratch_size(in, tile)));
  });
}

template <class T>
void run_causal(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Order order, Index chunk) {
  const Index n = in.k.extent(0);
  chunk = std::clamp<Index>(chunk, 1, std::max<Index>(n, 1));
  switch (order) {
    case Order::chunked: return walk_through(leaves, in, std::min(chunk, kTokens));
    case Order::token_by_token: return walk_by_columns(leaves, in);
    case Order::two_level: return run_two_level(leaves, in, chunk);
    default: break;
  }
  Memory<T> memory;
  const State<T> state = loaded(leaves, in, memory);
  if (order == Order::scan) {
    const Index m = in.v.extent(1);
    each_task((m + leaves.lanes - 1) / leaves.lanes, enough(in),
              [&](Index t) { leaves.scan(in, t * leaves.lanes, state, scratch<T>(leaves.scan_size(in))); });
    Recurrence<T> rest = in;
    rest.z_after = {};
    return save(rest, state);
  }
  answer_tiles(leaves, in, See::past, state);
  if (wants_state(in)) save(in, Spans<T>(leaves, in, span_of(kTokens, n)).total());
}

template <class T>
void run_step(const RecurLeaves<T>& leaves, const Recurrence<T>& in, bool read_first) {
  constexpr Index kColumns = 64;
  const Index m = in.v.extent(1);
  each_task((m + kColumns - 1) / kColumns, enough(in), [&](Index t) {
    leaves.step(in, read_first, t * kColumns, std::min(kColumns, m - t * kColumns), scratch<T>(leaves.step_size(in)));
  });
}

template <class T>
void run_whole(const RecurLeaves<T>& leaves, const Recurrence<T>& in, Whole order, Index shard) {
  const Index s = in.k.extent(0), m = in.v.extent(1);
  if (in.delta) {
    Memory<T> memory;
    const View<T, 2> differences(memory.of(s * m), {s, m});
    Recurrence<T> retrieval = in, update = in;
    retrieval.q = in.k, retrieval.k = in.k.rows(0, 0), retrieval.v = in.v.rows(0, 0), retrieval.o = differences;
    retrieval.delta = update.delta = false;
    retrieval.S_after = {}, retrieval.z_after = {};
    run_whole(leaves, retrieval, Whole::state, shard);
    for (Index j = 0; j < s; ++j)
      for (Index b = 0; b < m; ++b) differences(j, b) = in.v(j, b) - differences(j, b);
    update.v = differences;
    return run_whole(leaves, update, order, shard);
  }
  if (order == Whole::all_pairs) {
    Memory<T> memory;
    return answer_tiles(leaves, in, See::keys, loaded(leaves, in, memory));
  }
  const Spans<T> spans(leaves, in,
                       order == Whole::shards ? span_of(std::max<Index>(shard, 1), s) : std::max<Index>(s, 1));
  save(in, spans.total());
  if (in.o) answer_tiles(leaves, in, See::nothing, spans.total());
}

/// [x | one]
template <class T>
View<T, 2> widened(View<const T, 2> x, View<const T, 1> one, T* data) {
  const Index n = x.extent(0), width = x.extent(1) + 1;
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a + 1 < width; ++a) data[i * width + a] = x(i, a);
    data[i * width + width - 1] = one ? one(i) : T(1);
  }
  return {data, {n, width}};
}

template <class T>
void run_backward(const RecurLeaves<T>& leaves, const Gradients<T>& in, Order order, Index chunk) {
  const Index n = in.v.extent(0), m = in.v.extent(1), c = in.k.extent(1);
  Memory<T> memory, wide;
  View<const T, 2> g = in.grad_o, v = in.v;
  View<const T, 1> e;
  if (in.normalised) {
    const Index width = padded(leaves, m);
    T* data = memory.of(n * width + n);
    const View<T, 2> rows(data, {n, m}, {width, 1});
    const View<T, 1> denominators(data + n * width, {n});
    run_causal(leaves, {.q = in.q, .k = in.k, .v = in.v, .eps = in.eps, .o = rows, .denominators = denominators}, order,
               chunk);
    leaves.cotangents(in.grad_o, rows, denominators);
    g = rows, e = denominators;
    if (in.augmented) {
      T* columns = wide.of(2 * n * (m + 1));
      v = widened<T>(in.v, {}, columns);
      g = widened<T>(rows, e, columns + n * (m + 1));
    }
  }
  const bool apart = in.normalised && !in.augmented;
  const auto sum = [&](View<const T, 2> q, View<const T, 2> k, View<const T, 2> values, View<T, 2> o) {
    run_causal(leaves, {.q = q, .k = k, .v = values, .normalised = false, .o = o}, order, chunk);
  };
  each_task(3, n * c * m > kEnoughOfRecurrence, [&](Index t) {
    if (t == 0) {
      sum(g, v, in.k, in.grad_q);
      if (apart) leaves.share(e, in.k, in.grad_q, false, scratch<T>(c));
    } else if (t == 1) {
      sum(v.reversed(), g.reversed(), in.q.reversed(), in.grad_k.reversed());
      if (apart) leaves.share(e.reversed(), in.q.reversed(), in.grad_k.reversed(), true, scratch<T>(c));
    } else {
      sum(in.k.reversed(), in.q.reversed(), g.columns(0, m).reversed(), in.grad_v.reversed());
    }
  });
}

}  // namespace attest::openmp::engine
