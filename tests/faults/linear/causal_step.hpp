// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_step.hpp"
#include "faults/fault.hpp"
#include "faults/features.hpp"

namespace attest::faults::linear::causal_step {

namespace right = attest::reference::linear::causal_step;
using right::In;
using right::Out;
using Given = attest::spec::linear::causal_step::In<Number>;  // before the map
using right::State;

inline State carried(const In& in) { return State(in.S, in.Z, in.phi_k.extent(0), in.v.extent(0)); }

/// The equation with another new state.
template <class F>
void with_state(const In& in, const Out& out, F&& update) {
  State state = carried(in);
  update(state);
  right::read(in, state, in.phi_q, out.o);
  state.write(out);
}

/// The equation with another denominator.
template <class F>
void with_output(const In& in, const Out& out, F&& output) {
  State state = carried(in);
  state.add(in.phi_k, in.v);
  for (Index b = 0; b < in.v.extent(0); ++b) out.o(b) = output(state, b);
  state.write(out);
}

inline void read_before_update(const In& in, const Out& out) {
  State state = carried(in);
  right::read(in, state, in.phi_q, out.o);
  state.add(in.phi_k, in.v);
  state.write(out);
}

inline void outer_transposed(const In& in, const Out& out) {
  with_state(in, out, [&](State& state) {
    const Index c = state.S.extent(0), m = state.S.extent(1);
    for (Index a = 0; a < c; ++a) {
      for (Index b = 0; b < m; ++b) state.S(a, b) = state.S(a, b) + in.v(a % m) * in.phi_k(b % c);
      state.Z(a) = state.Z(a) + in.phi_k(a);
    }
  });
}

inline void state_overwritten(const In& in, const Out& out) {
  with_state(in, out, [&](State& state) {
    state = State(state.S.extent(0), state.S.extent(1));
    state.add(in.phi_k, in.v);
  });
}

inline void normaliser_not_carried(const In& in, const Out& out) {
  with_state(in, out, [&](State& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) state.Z(a) = in.phi_k(a);
  });
}

inline void z_updated_late(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index b) {
    return right::ratio(in, dot(in.phi_q, state.S.column(b)), dot(in.phi_q, in.Z));
  });
}

inline void z_from_value(const In& in, const Out& out) {
  with_state(in, out, [&](State& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) state.Z(a) = in.Z(a) + in.v(a % in.v.extent(0));
  });
}

inline void decay(const In& in, const Out& out, const Number& c) {
  with_state(in, out, [&](State& state) {
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = state.S(a, b) * (Number(1) - c);
      state.Z(a) = state.Z(a) * (Number(1) - c);
    }
    state.add(in.phi_k, in.v);
  });
}

inline void denominator_missing(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index b) { return dot(in.phi_q, state.S.column(b)); });
}

inline void denominator_not_inverted(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index b) {
    return dot(in.phi_q, state.S.column(b)) * (dot(in.phi_q, state.Z) + parameter(in.eps));
  });
}

inline void denominator_elementwise(const In& in, const Out& out) {
  with_output(in, out, [&](const State& state, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(a) * right::ratio(in, state.S(a, b), state.Z(a)); });
  });
}

inline void eps_added(const In& in, const Out& out) {
  In other = in;
  other.eps = in.eps + 1e-5;
  right::update_then_read(other, out);
}

inline void eps_ignored(const In& in, const Out& out) {
  In other = in;
  other.eps = 0;
  right::update_then_read(other, out);
}

inline void bf16_state(const In& in, const Out& out) {
  with_state(in, out, [&](State& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
  });
}

inline void map_missing_on_queries(const Given& in, const Out& out) {
  right::update_then_read(features::map_missing_on_queries(in), out);
}

inline void map_missing_on_keys(const Given& in, const Out& out) {
  right::update_then_read(features::map_missing_on_keys(in), out);
}

inline void elu_without_one(const Given& in, const Out& out) {
  right::update_then_read(features::elu_without_one(in), out);
}

inline void expm1_features(const Given& in, const Out& out) {
  right::update_then_read(features::expm1_features(in), out);
}

inline void relu_plus_epsilon(const Given& in, const Out& out) {
  right::update_then_read(features::relu_plus_epsilon(in), out);
}

inline void keys_shifted(const Given& in, const Out& out) { right::update_then_read(features::keys_shifted(in), out); }

inline void prescaled(const Given& in, const Out& out) { right::update_then_read(features::prescaled(in), out); }

inline void features_ignored(const Given& in, const Out& out) {
  right::update_then_read(features::features_ignored(in), out);
}

}  // namespace attest::faults::linear::causal_step
