// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/infini/segment_attention.hpp"
#include "faults/variant.hpp"

namespace attest::faults::infini::segment_attention {

namespace right = attest::reference::infini::segment_attention;
using reference::attention::softmax::shifted;
using reference::infini::gate::mixed;
using right::Head;
using right::In;
using right::Out;
using right::State;

/// Segment after segment: `visit(head, state, first, count)` answers and stores.
template <class T, class F>
void each_segment(const In<T>& in, const Out<T>& out, Head<T> head, F&& visit) {
  auto state = right::carried<T>(in);
  head.each_segment([&](Index first, Index count) { visit(head, state, first, count); });
  state.write(out);
}

template <class T>
void as_it_should(Head<T>& head, State<T>& state, const Out<T>& out, Index first, Index count) {
  head.answer(out, state, first, count);
  head.store(state, first, count);
}

/// The equation with a head whose parts were changed.
template <class T>
void with_head(const In<T>& in, const Out<T>& out, const Head<T>& head) {
  each_segment(in, out, head, [&](Head<T>& h, State<T>& state, Index first, Index count) { as_it_should(h, state, out, first, count); });
}

/// o_i mixed of what the memory answers and what `local(head, first, count, i)` gives.
template <class T, class F>
void with_local(const In<T>& in, const Out<T>& out, F&& local) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    head.answer(out, state, first, count);
    for (Index i = first; i < first + count; ++i) {
      const auto far = reference::infini::memory_retrieve::read(head.phi_q[i], state.memory, state.z, 0, in.zero_denominator);
      const auto near = local(head, first, count, i);
      for (Index b = 0; b < head.m; ++b) out.o(i, b) = mixed(head.g, far(b), near(b));
    }
    head.store(state, first, count);
  });
}

/// Softmax attention of query i over tokens from..end-1.
template <class T>
Vector<T> attend(const Head<T>& head, Index i, Index from, Index end) {
  const auto a = shifted(tabulate(end - from, [&](Index j) { return head.scale * dot<T>(head.q[i], head.k[from + j]); })).first;
  const auto v = head.in.v.rows(from, end - from);
  return tabulate(head.m, [&](Index b) { return dot<T>(a, v.column(b)); });
}

template <class T>
void update_before_retrieve(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    head.store(state, first, count);
    head.answer(out, state, first, count);
  });
}

template <class T>
void memory_reset(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    if (first > 0) state = State<T>(head.d, head.m);
    as_it_should(head, state, out, first, count);
  });
}

template <class T>
void z_overwritten(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    State<T> fresh(head.d, head.m);
    fresh.add(head.phi_k.view().rows(first, count), in.v.rows(first, count));
    state.z = fresh.z;
  });
}

template <class T>
void carried_state_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.memory = {}, other.z = {};
  right::loop(other, out);
}

template <class T>
void local_not_causal(const In<T>& in, const Out<T>& out) {
  with_local(in, out, [](const Head<T>& head, Index first, Index count, Index i) { return attend(head, i, first, first + count); });
}

template <class T>
void local_sees_previous_segment(const In<T>& in, const Out<T>& out) {
  with_local(in, out, [](const Head<T>& head, Index first, Index, Index i) { return attend(head, i, std::max<Index>(first - head.segment, 0), i + 1); });
}

template <class T>
void local_of_whole_sequence(const In<T>& in, const Out<T>& out) {
  with_local(in, out, [](const Head<T>& head, Index, Index, Index i) { return attend(head, i, 0, i + 1); });
}

template <class T>
void rotated_keys_in_memory(const In<T>& in, const Out<T>& out) {
  Head<T> head(in);
  head.phi_k = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.k));
  with_head(in, out, head);
}

template <class T>
void rotated_queries_and_keys_in_memory(const In<T>& in, const Out<T>& out) {
  Head<T> head(in);
  head.phi_k = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.k));
  head.phi_q = reference::infini::memory_retrieve::features(in.feature_map, read_only(head.q));
  with_head(in, out, head);
}

template <class T>
void scaled_queries_in_memory(const In<T>& in, const Out<T>& out) {
  Head<T> head(in);
  const auto q = matrix_of<T>(head.n, head.d, [&](Index i, Index a) { return head.scale * in.q(i, a); });
  head.phi_q = reference::infini::memory_retrieve::features(in.feature_map, q.view());
  with_head(in, out, head);
}

template <class T>
void map_missing(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.feature_map = "identity";
  right::loop(other, out);
}

template <class T>
void queries_without_offset(const In<T>& in, const Out<T>& out) {
  Head<T> head(in);
  In<T> from_zero = in;
  from_zero.offset = 0;
  head.q = right::positioned(from_zero, in.q);
  with_head(in, out, head);
}

template <class T>
void position_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.position = "none";
  right::loop(other, out);
}

template <class T>
void last_partial_dropped(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    head.answer(out, state, first, count);
    if (count == head.segment) head.store(state, first, count);
  });
}

template <class T>
void last_partial_stored_twice(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    if (count < head.segment) head.store(state, first, count);
  });
}

template <class T>
void gate_swapped(const In<T>& in, const Out<T>& out) {
  Head<T> head(in);
  head.g = sigmoid(T(-in.beta()));
  with_head(in, out, head);
}

template <class T>
void first_segment_ungated(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    as_it_should(head, state, out, first, count);
    if (first > 0) return;
    for (Index i = 0; i < count; ++i) {
      const auto near = head.local(0, i);
      for (Index b = 0; b < head.m; ++b) out.o(i, b) = near(b);
    }
  });
}

template <class T>
void delta_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.update = "linear";
  right::loop(other, out);
}

template <class T>
void delta_with_new_z(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    head.answer(out, state, first, count);
    if (in.update == "linear") return head.store(state, first, count);
    const auto phi = head.phi_k.view().rows(first, count);
    const View<const T, 2> features = phi;
    auto with = state;
    with.add(features, in.v.rows(first, count));
    with.memory = state.memory;
    const auto u = reference::infini::memory_update_delta::news(features, in.v.rows(first, count), with, 0, in.zero_denominator);
    state.add(features, u.view());
  });
}

template <class T>
void denominator_broadcast(const In<T>& in, const Out<T>& out) {
  each_segment(in, out, Head<T>(in), [&](Head<T>& head, State<T>& state, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      const auto near = head.local(first, i);
      for (Index b = 0; b < head.m; ++b)
        out.o(i, b) = mixed(head.g, reference::infini::memory_retrieve::ratio(dot<T>(head.phi_q[i], state.memory.column(b)), T(state.z(b % head.d)), in.zero_denominator), near(b));
    }
    head.store(state, first, count);
  });
}

template <class T>
void first_segment_nan(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.zero_denominator = "nan";
  right::loop(other, out);
}

template <class T>
void with_scale(const In<T>& in, const Out<T>& out, const T& scale) {
  Head<T> head(in);
  head.scale = scale;
  with_head(in, out, head);
}

template <class T>
void scale_missing(const In<T>& in, const Out<T>& out) { with_scale(in, out, in.scale ? T(*in.scale) : T(1)); }

template <class T>
void scale_ignored(const In<T>& in, const Out<T>& out) { with_scale(in, out, T(T(1) / sqrt(T(in.q.extent(1))))); }

template <class T>
void scale_drift(const In<T>& in, const Out<T>& out, const T& c) { with_scale(in, out, T(Head<T>(in).scale * (T(1) + c))); }

template <class T>
void gate_drift(const In<T>& in, const Out<T>& out, const T& c) {
  Head<T> head(in);
  head.g = sigmoid(T(in.beta() * (T(1) + c)));
  with_head(in, out, head);
}

}  // namespace attest::faults::infini::segment_attention
