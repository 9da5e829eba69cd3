// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal.hpp"
#include "faults/fault.hpp"
#include "faults/features.hpp"

namespace attest::faults::linear::causal {

namespace right = attest::reference::linear::causal;
using reference::linear::causal_chunked::add_chunk;
using reference::linear::causal_chunked::read_chunk;
using reference::linear::causal_step::ratio;
using reference::linear::causal_step::read;
using right::In;
using right::Out;
using Given = attest::spec::linear::causal::In<Number>;  // before the map
using right::State;

inline State carried(const In& in) { return State(in.S, in.Z, in.phi_k.extent(1), in.v.extent(1)); }

inline State empty(const In& in) { return State(in.phi_k.extent(1), in.v.extent(1)); }

/// Token after token; `visit(state, i)` updates the state and answers.
template <class F>
void each_token(const In& in, const Out& out, State state, F&& visit) {
  for (Index i = 0; i < in.v.extent(0); ++i) visit(state, i);
  state.write(out);
}

/// Chunk after chunk; `visit(state, first, count)` answers and updates the state.
template <class F>
void each_chunk(const In& in, const Out& out, F&& visit) {
  State state = carried(in);
  right::each_chunk(in, [&](Index first, Index count) { visit(state, first, count); });
  state.write(out);
}

inline void store(State& state, const In& in, Index first, Index count) {
  add_chunk(state, in.phi_k.rows(first, count), in.v.rows(first, count));
}

inline void answer(const State& before, const In& in, const Out& out, Index first, Index count) {
  read_chunk(in, before, in.phi_q.rows(first, count), in.phi_k.rows(first, count), in.v.rows(first, count), out.o,
             first);
}

/// o_i = output(state with token i, i, b).
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    state.add(in.phi_k[i], in.v[i]);
    for (Index b = 0; b < in.v.extent(1); ++b) out.o(i, b) = output(state, i, b);
  });
}

inline void exclusive_prefix(const In& in, const Out& out) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    read(in, state, in.phi_q[i], out.o[i]);
    state.add(in.phi_k[i], in.v[i]);
  });
}

inline void global_normaliser(const In& in, const Out& out) {
  State all = carried(in);
  store(all, in, 0, in.v.extent(0));
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return ratio(in, dot(in.phi_q[i], state.S.column(b)), dot(in.phi_q[i], all.Z));
  });
}

inline void normaliser_not_carried(const In& in, const Out& out) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    if (i > 0 && i % in.chunk == 0) state.Z = empty(in).Z;
    state.add(in.phi_k[i], in.v[i]);
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

inline void state_not_carried(const In& in, const Out& out) {
  each_chunk(in, out, [&](State& state, Index first, Index count) {
    if (first > 0) state = empty(in);
    answer(state, in, out, first, count);
    store(state, in, first, count);
  });
}

inline void intra_chunk_unmasked(const In& in, const Out& out) {
  each_chunk(in, out, [&](State& state, Index first, Index count) {
    store(state, in, first, count);
    for (Index i = first; i < first + count; ++i) read(in, state, in.phi_q[i], out.o[i]);
  });
}

inline void intra_chunk_missing(const In& in, const Out& out) {
  each_chunk(in, out, [&](State& state, Index first, Index count) {
    for (Index i = first; i < first + count; ++i) read(in, state, in.phi_q[i], out.o[i]);
    store(state, in, first, count);
  });
}

inline void first_key_of_chunk_dropped(const In& in, const Out& out) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    State with = state;
    with.add(in.phi_k[i], in.v[i]);
    read(in, with, in.phi_q[i], out.o[i]);
    if (i == 0 || i % in.chunk != 0) state = with;
  });
}

inline void remainder_dropped(const In& in, const Out& out) {
  each_chunk(in, out, [&](State& state, Index first, Index count) {
    answer(state, in, out, first, count);
    if (count == in.chunk) store(state, in, first, count);
  });
}

inline void z_updated_late(const In& in, const Out& out) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    State late = state;
    state.add(in.phi_k[i], in.v[i]);
    late.S = state.S;
    read(in, late, in.phi_q[i], out.o[i]);
  });
}

inline void denominator_missing(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) { return dot(in.phi_q[i], state.S.column(b)); });
}

inline void denominator_not_inverted(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return dot(in.phi_q[i], state.S.column(b)) * (dot(in.phi_q[i], state.Z) + parameter(in.eps));
  });
}

inline void denominator_elementwise(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index i, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(i, a) * ratio(in, state.S(a, b), state.Z(a)); });
  });
}

inline void carried_state_ignored(const In& in, const Out& out) {
  In other = in;
  other.S = {}, other.Z = {};
  right::recurrent(other, out);
}

inline void carried_z_ignored(const In& in, const Out& out) {
  In other = in;
  other.Z = {};
  right::recurrent(other, out);
}

inline void final_state_stale(const In& in, const Out& out) {
  right::recurrent(in, out);
  State state = carried(in);
  store(state, in, 0, in.v.extent(0) - 1);
  state.write(out);
}

inline void eps_added(const In& in, const Out& out) {
  In other = in;
  other.eps = in.eps + 1e-5;
  right::recurrent(other, out);
}

inline void eps_ignored(const In& in, const Out& out) {
  In other = in;
  other.eps = 0;
  right::recurrent(other, out);
}

inline void state_decay(const In& in, const Out& out, const Number& c) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = state.S(a, b) * (Number(1) - c);
      state.Z(a) = state.Z(a) * (Number(1) - c);
    }
    state.add(in.phi_k[i], in.v[i]);
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

inline void bf16_state(const In& in, const Out& out) {
  each_token(in, out, carried(in), [&](State& state, Index i) {
    state.add(in.phi_k[i], in.v[i]);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
    read(in, state, in.phi_q[i], out.o[i]);
  });
}

inline void mean_of_values(const In& in, const Out& out) {
  right::recurrent(in, out);
  for (Index i = 0; i < in.v.extent(0); ++i)
    for (Index b = 0; b < in.v.extent(1); ++b)
      out.o(i, b) = sum(i + 1, [&](Index j) { return in.v(j, b); }) / Number(i + 1);
}

inline void map_missing_on_queries(const Given& in, const Out& out) {
  right::recurrent(features::map_missing_on_queries(in), out);
}

inline void map_missing_on_keys(const Given& in, const Out& out) {
  right::recurrent(features::map_missing_on_keys(in), out);
}

inline void elu_without_one(const Given& in, const Out& out) { right::recurrent(features::elu_without_one(in), out); }

inline void expm1_features(const Given& in, const Out& out) { right::recurrent(features::expm1_features(in), out); }

inline void relu_plus_epsilon(const Given& in, const Out& out) {
  right::recurrent(features::relu_plus_epsilon(in), out);
}

inline void keys_shifted(const Given& in, const Out& out) { right::recurrent(features::keys_shifted(in), out); }

inline void prescaled(const Given& in, const Out& out) { right::recurrent(features::prescaled(in), out); }

inline void features_ignored(const Given& in, const Out& out) { right::recurrent(features::features_ignored(in), out); }

}  // namespace attest::faults::linear::causal
