// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::causal {

namespace right = attest::reference::linear::causal;
using reference::linear::causal_chunked::add_chunk;
using reference::linear::causal_chunked::read_chunk;
using reference::linear::causal_step::ratio;
using reference::linear::causal_step::read;
using right::In;
using right::Out;
using right::State;

template <class T>
State<T> carried(const In<T>& in) { return State<T>(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1)); }

template <class T>
State<T> empty(const In<T>& in) { return State<T>(in.phi_k.extent(1), in.v.extent(1)); }

/// Token after token; `visit(state, i)` updates the state and answers.
template <class T, class F>
void each_token(const In<T>& in, const Out<T>& out, State<T> state, F&& visit) {
  for (Index i = 0; i < in.v.extent(0); ++i) visit(state, i);
  state.write(out);
}

/// Chunk after chunk; `visit(state, first, count)` answers and updates the state.
template <class T, class F>
void each_chunk(const In<T>& in, const Out<T>& out, F&& visit) {
  State<T> state = carried(in);
  right::each_chunk(in, [&](Index first, Index count) { visit(state, first, count); });
  state.write(out);
}

template <class T>
void store(State<T>& state, const In<T>& in, Index first, Index count) { add_chunk(state, in.phi_k.rows(first, count), in.v.rows(first, count)); }

template <class T>
void answer(const State<T>& before, const In<T>& in, const Out<T>& out, Index first, Index count) {
  read_chunk(in, before, in.phi_q.rows(first, count), in.phi_k.rows(first, count), in.v.rows(first, count), out.o.rows(first, count));
}

/// o_i = output(state with token i, i, b).
template <class T, class F>
void with_output(const In<T>& in, const Out<T>& out, F&& output) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    state.add(in.phi_k[i], in.v[i]);
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(state, i, b);
  });
}

template <class T>
void exclusive_prefix(const In<T>& in, const Out<T>& out) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    read(in, state, in.phi_q[i], out.o[i]);
    state.add(in.phi_k[i], in.v[i]);
  });
}

template <class T>
void global_normaliser(const In<T>& in, const Out<T>& out) {
  State<T> all = carried(in);
  store(all, in, 0, in.v.extent(0));
  with_output(in, out, [&](const State<T>& state, Index i, Index b) { return ratio(in, dot<T>(in.phi_q[i], state.S.column(b)), dot<T>(in.phi_q[i], all.Z)); });
}

template <class T>
void normaliser_not_carried(const In<T>& in, const Out<T>& out) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    if (i > 0 && i % in.chunk == 0) state.Z = empty(in).Z;
    state.add(in.phi_k[i], in.v[i]);
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

template <class T>
void state_not_carried(const In<T>& in, const Out<T>& out) {
  each_chunk(in, out, [&](State<T>& state, Index first, Index count) {
    if (first > 0) state = empty(in);
    answer(state, in, out, first, count);
    store(state, in, first, count);
  });
}

template <class T>
void intra_chunk_unmasked(const In<T>& in, const Out<T>& out) {
  each_chunk(in, out, [&](State<T>& state, Index first, Index count) {
    store(state, in, first, count);
    for (Index i = first; i < first + count; ++i) read(in, state, in.phi_q[i], out.o[i]);
  });
}

template <class T>
void intra_chunk_missing(const In<T>& in, const Out<T>& out) {
  each_chunk(in, out, [&](State<T>& state, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) read(in, state, in.phi_q[i], out.o[i]);
    store(state, in, first, count);
  });
}

template <class T>
void first_key_of_chunk_dropped(const In<T>& in, const Out<T>& out) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    State<T> with = state;
    with.add(in.phi_k[i], in.v[i]);
    read(in, with, in.phi_q[i], out.o[i]);
    if (i == 0 || i % in.chunk != 0) state = with;
  });
}

template <class T>
void remainder_dropped(const In<T>& in, const Out<T>& out) {
  each_chunk(in, out, [&](State<T>& state, Index first, Index count) {
    answer(state, in, out, first, count);
    if (count == in.chunk) store(state, in, first, count);
  });
}

template <class T>
void z_updated_late(const In<T>& in, const Out<T>& out) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    State<T> late = state;
    state.add(in.phi_k[i], in.v[i]);
    late.S = state.S;
    read(in, late, in.phi_q[i], out.o[i]);
  });
}

template <class T>
void denominator_missing(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) { return dot<T>(in.phi_q[i], state.S.column(b)); });
}

template <class T>
void denominator_not_inverted(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return T(dot<T>(in.phi_q[i], state.S.column(b)) * (dot<T>(in.phi_q[i], state.Z) + T(in.eps)));
  });
}

template <class T>
void denominator_elementwise(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index i, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(i, a) * ratio(in, T(state.S(a, b)), T(state.Z(a))); });
  });
}

template <class T>
void carried_state_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.S = {}, other.Z = {};
  right::recurrent(other, out);
}

template <class T>
void carried_z_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.Z = {};
  right::recurrent(other, out);
}

template <class T>
void final_state_stale(const In<T>& in, const Out<T>& out) {
  right::recurrent(in, out);
  State<T> state = carried(in);
  store(state, in, 0, in.v.extent(0) - 1);
  state.write(out);
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = in.eps + 1e-5;
  right::recurrent(other, out);
}

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = 0;
  right::recurrent(other, out);
}

template <class T>
void state_decay(const In<T>& in, const Out<T>& out, const T& c) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = state.S(a, b) * (T(1) - c);
      state.Z(a) = state.Z(a) * (T(1) - c);
    }
    state.add(in.phi_k[i], in.v[i]);
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

template <class T>
void bf16_state(const In<T>& in, const Out<T>& out) {
  each_token(in, out, carried(in), [&](State<T>& state, Index i) {
    state.add(in.phi_k[i], in.v[i]);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

template <class T>
void mean_of_values(const In<T>& in, const Out<T>& out) {
  right::recurrent(in, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = sum(i + 1, [&](Index j) { return T(in.v(j, b)); }) / T(i + 1);
}

}  // namespace attest::faults::linear::causal
