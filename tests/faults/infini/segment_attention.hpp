// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/segment_attention.hpp"
#include "faults/fault.hpp"

namespace attest::faults::infini::segment_attention {

namespace right = attest::reference::infini::segment_attention;
using attest::spec::infini::segment_attention::FeatureMap;
using attest::spec::infini::segment_attention::Position;
using attest::spec::infini::segment_attention::Update;
using attest::spec::infini::segment_attention::ZeroDenominator;
using reference::attention::softmax::shifted;
using reference::infini::gate::mixed;
using right::Head;
using right::In;
using right::Out;
using right::State;

/// Segment after segment: `visit(head, state, first, count)` answers and stores.
template <class F>
void each_segment(const In& in, const Out& out, Head head, F&& visit) {
  auto state = right::carried(in);
  head.each_segment([&](Index first, Index count) { visit(head, state, first, count); });
  state.write(out);
}

inline void as_it_should(Head& head, State& state, const Out& out, Index first, Index count) {
  head.answer(out, state, first, count);
  head.store(state, first, count);
}

/// The equation with a head whose parts were changed.
inline void with_head(const In& in, const Out& out, const Head& head) {
  each_segment(in, out, head,
               [&](Head& h, State& state, Index first, Index count) { as_it_should(h, state, out, first, count); });
}

/// o_i mixed of what the memory answers and what `local(head, first, count, i)` gives.
template <class F>
void with_local(const In& in, const Out& out, F&& local) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    head.answer(out, state, first, count);
    for (Index i = first; i < first + count; ++i) {
      const auto far =
          reference::infini::memory_retrieve::read(head.phi_q[i], state.memory, state.z, 0, in.zero_denominator);
      const auto near = local(head, first, count, i);
      for (Index b = 0; b < head.m; ++b) out.o(i, b) = mixed(head.g, far(b), near(b));
    }
    head.store(state, first, count);
  });
}

/// Softmax attention of query i over tokens from..end-1.
inline Vector attend(const Head& head, Index i, Index from, Index end) {
  const auto a =
      shifted(tabulate(end - from, [&](Index j) { return head.scale * dot(head.q[i], head.k[from + j]); })).first;
  const auto v = head.in.v.rows(from, end - from);
  return tabulate(head.m, [&](Index b) { return dot(a, v.column(b)); });
}

inline void update_before_retrieve(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    head.store(state, first, count);
    head.answer(out, state, first, count);
  });
}

inline void memory_reset(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    if (first > 0) state = State(head.d, head.m);
    as_it_should(head, state, out, first, count);
  });
}

inline void z_overwritten(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    State fresh(head.d, head.m);
    fresh.add(head.phi_k.view().rows(first, count), in.v.rows(first, count));
    state.z = fresh.z;
  });
}

inline void carried_state_ignored(const In& in, const Out& out) {
  In other = in;
  other.memory = {}, other.z = {};
  right::loop(other, out);
}

inline void local_not_causal(const In& in, const Out& out) {
  with_local(in, out,
             [](const Head& head, Index first, Index count, Index i) { return attend(head, i, first, first + count); });
}

inline void local_sees_previous_segment(const In& in, const Out& out) {
  with_local(in, out, [](const Head& head, Index first, Index, Index i) {
    return attend(head, i, std::max<Index>(first - head.segment, 0), i + 1);
  });
}

inline void local_of_whole_sequence(const In& in, const Out& out) {
  with_local(in, out, [](const Head& head, Index, Index, Index i) { return attend(head, i, 0, i + 1); });
}

inline void rotated_keys_in_memory(const In& in, const Out& out) {
  Head head(in);
  head.phi_k = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.k));
  with_head(in, out, head);
}

inline void rotated_queries_and_keys_in_memory(const In& in, const Out& out) {
  Head head(in);
  head.phi_k = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.k));
  head.phi_q = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.q));
  with_head(in, out, head);
}

inline void scaled_queries_in_memory(const In& in, const Out& out) {
  Head head(in);
  const auto q = matrix_of(head.n, head.d, [&](Index i, Index a) { return head.scale * in.q(i, a); });
  head.phi_q = reference::infini::memory_retrieve::features(in.feature_map, q.view());
  with_head(in, out, head);
}

inline void map_missing(const In& in, const Out& out) {
  In other = in;
  other.feature_map = FeatureMap::identity;
  right::loop(other, out);
}

inline void queries_without_offset(const In& in, const Out& out) {
  Head head(in);
  In from_zero = in;
  from_zero.offset = 0;
  head.q = right::positioned(from_zero, in.q);
  with_head(in, out, head);
}

inline void position_ignored(const In& in, const Out& out) {
  In other = in;
  other.position = Position::none;
  right::loop(other, out);
}

inline void last_partial_dropped(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    head.answer(out, state, first, count);
    if (count == head.segment) head.store(state, first, count);
  });
}

inline void last_partial_stored_twice(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    if (count < head.segment) head.store(state, first, count);
  });
}

inline void gate_swapped(const In& in, const Out& out) {
  Head head(in);
  head.g = sigmoid(-in.beta());
  with_head(in, out, head);
}

inline void first_segment_ungated(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    if (first > 0) return;
    for (Index i = 0; i < count; ++i) {
      const auto near = head.local(0, i);
      for (Index b = 0; b < head.m; ++b) out.o(i, b) = near(b);
    }
  });
}

inline void delta_ignored(const In& in, const Out& out) {
  In other = in;
  other.update = Update::linear;
  right::loop(other, out);
}

inline void delta_with_new_z(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    head.answer(out, state, first, count);
    if (in.update == Update::linear) return head.store(state, first, count);
    const auto phi = head.phi_k.view().rows(first, count);
    const View<const Number, 2> features = phi;
    auto with = state;
    with.add(features, in.v.rows(first, count));
    with.memory = state.memory;
    const auto u =
        reference::infini::memory_update_delta::news(features, in.v.rows(first, count), with, 0, in.zero_denominator);
    state.add(features, u.view());
  });
}

inline void denominator_broadcast(const In& in, const Out& out) {
  each_segment(in, out, Head(in), [&](Head& head, State& state, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      const auto near = head.local(first, i);
      for (Index b = 0; b < head.m; ++b)
        out.o(i, b) = mixed(head.g,
                            reference::infini::memory_retrieve::ratio(dot(head.phi_q[i], state.memory.column(b)),
                                                                      state.z(b % head.d), in.zero_denominator),
                            near(b));
    }
    head.store(state, first, count);
  });
}

inline void first_segment_nan(const In& in, const Out& out) {
  In other = in;
  other.zero_denominator = ZeroDenominator::nan;
  right::loop(other, out);
}

inline void with_scale(const In& in, const Out& out, const Number& scale) {
  Head head(in);
  head.scale = scale;
  with_head(in, out, head);
}

inline void scale_missing(const In& in, const Out& out) {
  with_scale(in, out, in.scale ? parameter(*in.scale) : Number(1));
}

inline void scale_ignored(const In& in, const Out& out) { with_scale(in, out, 1 / sqrt(Number(in.q.extent(1)))); }

inline void scale_drift(const In& in, const Out& out, const Number& c) {
  with_scale(in, out, Head(in).scale * (Number(1) + c));
}

inline void gate_drift(const In& in, const Out& out, const Number& c) {
  Head head(in);
  head.g = sigmoid(in.beta() * (Number(1) + c));
  with_head(in, out, head);
}

}  // namespace attest::faults::infini::segment_attention
