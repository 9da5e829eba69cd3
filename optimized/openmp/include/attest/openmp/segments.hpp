// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attest/openmp/engine/attend.hpp"
#include "attest/openmp/infini.hpp"
#include "attest/openmp/tasks.hpp"
#include "attest/openmp/waves.hpp"
#include "attest/spec/infini/segment_attention.hpp"

/// One head of Infini-attention over segments, for a head alone and for several.
namespace attest::openmp::infini::segment_attention {

using attest::spec::infini::segment_attention::In;
using attest::spec::infini::segment_attention::Out;
using attest::spec::infini::segment_attention::Position;
using attest::spec::infini::segment_attention::Update;

/// Rows turned by their positions: pair a = (2a, 2a + 1) of token t by the angle (offset + t) 10000^(-2a/d); x itself
/// without positions.
template <class T>
View<const T, 2> positioned(const In<T>& in, View<const T, 2> x, RowMajor<T>& turned) {
  if (in.position == Position::none) return x;
  const Index n = x.extent(0), d = x.extent(1);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), in.offset);
  const auto theta = positional::frequencies<T>(10000, d / 2, static_cast<engine::Wide<T>>(d) / 2);  // C2
  turned.resize(n, d);
  engine::rotate(engine::Rotation<T>{
      .x = x, .positions = {positions.data(), {n}}, .theta = {theta.data(), {theta.size()}}, .y = view(turned)});
  return view(std::as_const(turned));
}

/// The inputs that all segments are computed from.
template <class T>
struct Head {
  const In<T>& in;
  Index n, d, m, segment, segments;
  RowMajor<T> turned_q, turned_k;
  View<const T, 2> q, k;  ///< with positions, which the memory does not see
  T scale, memory_weight, local_weight;

  explicit Head(const In<T>& input)
      : in(input),
        n(in.q.extent(0)),
        d(in.q.extent(1)),
        m(in.v.extent(1)),
        segment(std::min(in.segment.value_or(n), std::max<Index>(n, 1))),
        segments(0),
        q(positioned(in, in.q, turned_q)),
        k(positioned(in, in.k, turned_k)),
        scale(in.scale ? static_cast<T>(*in.scale) : 1 / std::sqrt(static_cast<T>(d))),
        memory_weight(sigmoid(in.beta())),
        local_weight(sigmoid(-in.beta())) {
    if (n > 0 && segment < 1) throw std::invalid_argument("segment must be at least 1");  // C1
    segments = n > 0 ? (n + segment - 1) / segment : 0;
  }

  Index first_of(Index s) const { return s * segment; }
  Index count_of(Index s) const { return std::min(segment, n - s * segment); }

  /// The memory of `state`, with no token yet to take (C3: what it answers where a denominator is 0).
  engine::Recurrence<T> memory(const State<T>& state) const {
    auto recurrence = recurrence_of<T>(in, in.zero_denominator, T(0));
    recurrence.k = {nullptr, {0, d}}, recurrence.v = {nullptr, {0, m}};
    recurrence.S = view(state.memory), recurrence.z = {state.z.data(), {d}};
    return recurrence;
  }

  /// The output of segment s, given the memory from before it: what that answers, and causal softmax attention within.
  void answer(const Out<T>& out, const State<T>& before, Index s) const {
    const Index first = first_of(s), count = count_of(s);
    RowMajor<T> far(count, m), local(count, m);
    auto old = memory(before);
    old.q = in.q.rows(first, count), old.o = view(far);
    engine::whole(old, engine::Whole::state, 1);
    engine::Problem<T> problem{
        .q = q.rows(first, count), .k = k.rows(first, count), .v = in.v.rows(first, count), .scale = scale};
    problem.right = 0;
    engine::attend(problem, {.o = view(local)});
    matrix(out.o).middleRows(first, count) = memory_weight * far + local_weight * local;
  }

  /// All segments; before[s] is the state that segment s reads.
  void answer_all(const Out<T>& out, const std::vector<State<T>>& before) const {
    each_task(segments, n > kTile, [&](Index s) { answer(out, before[static_cast<std::size_t>(s)], s); });
  }

  /// The state with segment s.
  void store(State<T>& state, Index s) const {
    State<T> after{RowMajor<T>(d, m), Column<T>(d)};
    auto update = memory(state);
    update.k = in.k.rows(first_of(s), count_of(s)), update.v = in.v.rows(first_of(s), count_of(s));
    update.delta = in.update == Update::delta;
    update.S_after = view(after.memory), update.z_after = {after.z.data(), {d}};
    engine::whole(update, engine::Whole::state, 1);
    std::swap(state, after);
  }
};

/// Segments in order.
template <class T>
void loop(const In<T>& in, const Out<T>& out) {
  const Head<T> head(in);
  auto state = carried(in.memory, in.z, head.d, head.m);
  for (Index s = 0; s < head.segments; ++s) {
    head.answer(out, state, s);
    head.store(state, s);
  }
  write(state, out.memory, out.z);
}

}  // namespace attest::openmp::infini::segment_attention
