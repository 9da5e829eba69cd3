// SPDX-License-Identifier: MIT
#pragma once

#include <numeric>

#include "attest/reference/attention/softmax.hpp"
#include "attest/reference/infini/gate.hpp"
#include "attest/reference/infini/memory_update_delta.hpp"
#include "attest/reference/positional/rotary.hpp"
#include "attest/spec/infini/segment_attention.hpp"

namespace attest::reference::infini::segment_attention {

using In = attest::spec::infini::segment_attention::In<Number>;
using Out = attest::spec::infini::segment_attention::Out<Number>;
using attest::spec::infini::segment_attention::Position;
using attest::spec::infini::segment_attention::Update;
using memory_update_delta::Affine;
using memory_update_linear::carried;
using memory_update_linear::prefix_scan;
using memory_update_linear::State;

/// Tokens per segment: all of them unless it is given.
inline Index segment_of(const In& in) {
  const Index segment = in.segment.value_or(std::max<Index>(in.q.extent(0), 1));
  if (segment < 1) throw std::invalid_argument("infini.segment_attention: segment must be at least 1");  // C1
  return segment;
}

/// Rows for the local branch: token t stands at position offset + t.
inline Matrix positioned(const In& in, View<const Number, 2> x) {
  const auto [n, d] = x.extents();
  Matrix turned(x, n, d);
  if (in.position == Position::none) return turned;
  std::vector<Index> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), in.offset);
  positional::rotary::pairs({.x = x, .positions = {positions.data(), {n}}, .attention_factor = {}},
                            {.y = turned.view()});  // C2
  return stage("turned", std::move(turned));
}

/// The inputs of every segment. The memory sees queries and keys without scale and position, the local branch
/// with both.
struct Head {
  const In& in;
  Index n, d, m, segment;
  Matrix phi_q, phi_k, q, k;
  Number scale, g;

  explicit Head(const In& input)
      : in(input),
        n(in.q.extent(0)),
        d(in.q.extent(1)),
        m(in.v.extent(1)),
        segment(segment_of(in)),
        phi_q(memory_retrieve::features(in.feature_map, in.q)),
        phi_k(memory_retrieve::features(in.feature_map, in.k)),
        q(positioned(in, in.q)),
        k(positioned(in, in.k)),
        scale(stage("scale", in.scale ? parameter(*in.scale) : 1 / sqrt(Number(d)))),
        g(gate::gate_of(in.beta())) {}

  /// visit(first, count) for every segment; the last may be short.
  template <class F>
  void each_segment(F&& visit) const {
    for (Index first = 0; first < n; first += segment) visit(first, std::min(segment, n - first));
  }

  /// sum_{first <= j <= i} a_ij v_j with softmax weights a_ij
  Vector local(Index first, Index i) const {
    const auto products = stage("products", product(q[i], k.view().rows(first, i - first + 1).transposed()));
    const auto l = stage("logits", tabulate(i - first + 1, [&](Index j) { return scale * products(j); }));
    const auto a = attention::softmax::shifted(l).first;
    return product(a, in.v.rows(first, l.extent()));
  }

  /// o_i = sigma(beta) retrieve(q_i) + (1 - sigma(beta)) local_i, the memory from before the segment (C3).
  void answer(const Out& out, const State& before, Index first, Index count) const {
    for (Index i = first; i < first + count; ++i) {
      if (!is_wanted(out.o, i)) continue;
      const auto far =
          stage("retrieved", memory_retrieve::read(phi_q[i], before.memory, before.z, 0, in.zero_denominator));
      const auto near = stage("local results", local(first, i));
      for (Index b = 0; b < m; ++b) out.o(i, b) = gate::mixed(g, far(b), near(b));
    }
  }

  /// The state with the segment's keys and values.
  void store(State& state, Index first, Index count) const {
    const auto phi = phi_k.view().rows(first, count);
    const auto v = in.v.rows(first, count);
    if (in.update == Update::linear) return state.add(phi, v);
    const auto u = memory_update_delta::news(phi, v, state, 0, in.zero_denominator);
    state.add(phi, u.view());
  }
};

/// Segment after segment: answer from the old memory, then store      [Munkhdalai et al. 2024, eq. 2 to 6]
inline void loop(const In& in, const Out& out) {
  const Head head(in);
  auto state = carried(in);
  head.each_segment([&](Index first, Index count) {
    head.answer(out, state, first, count);
    head.store(state, first, count);
  });
  state.write(out);
}

/// Linear updates add up: prefix sums of the segments' own states, then all segments at once.
inline void parallel_linear(const In& in, const Out& out) {
  const Head head(in);
  std::vector<State> before{carried(in)};
  head.each_segment([&](Index first, Index count) { head.store(before.emplace_back(head.d, head.m), first, count); });
  prefix_scan(before, [](const State& x, const State& y) { return x + y; });
  head.each_segment([&](Index first, Index count) {
    head.answer(out, before[static_cast<std::size_t>(first / head.segment)], first, count);
  });
  before.back().write(out);
}

/// Delta updates are affine maps of the memory once every z is known; maps compose in any grouping.
inline void parallel_delta(const In& in, const Out& out) {
  const Head head(in);
  const auto start = carried(in);
  std::vector<State> before{start};
  head.each_segment([&](Index first, Index count) {  // z first; it does not depend on the memory
    before.emplace_back(head.d, head.m).add(head.phi_k.view().rows(first, count), in.v.rows(first, count));
  });
  prefix_scan(before, [](const State& x, const State& y) { return x + y; });
  std::vector<Affine> maps;
  head.each_segment([&](Index first, Index count) {
    maps.push_back(memory_update_delta::segment_map(head.phi_k.view().rows(first, count), in.v.rows(first, count),
                                                    before[maps.size()].z, 0, in.zero_denominator));
  });
  prefix_scan(maps, [](const Affine& x, const Affine& y) { return memory_update_delta::composed(x, y); });
  for (std::size_t s = 0; s < before.size(); ++s) before[s].memory = s == 0 ? start.memory : maps[s - 1](start.memory);
  head.each_segment([&](Index first, Index count) {
    head.answer(out, before[static_cast<std::size_t>(first / head.segment)], first, count);
  });
  before.back().write(out);
}

/// One call per segment, the state handed from call to call.
inline void resumed(const In& in, const Out& out) {
  const Index n = in.q.extent(0), segment = segment_of(in);
  In part = in;
  for (Index first = 0; first < n; first += segment) {
    const Index count = std::min(segment, n - first);
    part.q = in.q.rows(first, count), part.k = in.k.rows(first, count), part.v = in.v.rows(first, count);
    part.offset = in.offset + first;
    loop(part, Out{out.o.rows(first, count), out.memory, out.z});
    part.memory = out.memory, part.z = out.z;
  }
}

}  // namespace attest::reference::infini::segment_attention
