// SPDX-License-Identifier: MIT
#pragma once

#include "attest/reference/linear/causal_step.hpp"
#include "faults/variant.hpp"

namespace attest::faults::linear::causal_step {

namespace right = attest::reference::linear::causal_step;
using right::In;
using right::Out;
using right::State;

template <class T>
State<T> carried(const In<T>& in) { return State<T>(in.S, in.Z, in.phi_k.extent(0), in.v.extent(0)); }

/// The equation with another new state.
template <class T, class F>
void with_state(const In<T>& in, const Out<T>& out, F&& update) {
  State<T> state = carried(in);
  update(state);
  right::read(in, state, in.phi_q, out.o);
  state.write(out);
}

/// The equation with another denominator.
template <class T, class F>
void with_output(const In<T>& in, const Out<T>& out, F&& output) {
  State<T> state = carried(in);
  state.add(in.phi_k, in.v);
  for (Index b = 0; b < in.v.extent(0); ++b) out.o(b) = output(state, b);
  state.write(out);
}

template <class T>
void read_before_update(const In<T>& in, const Out<T>& out) {
  State<T> state = carried(in);
  right::read(in, state, in.phi_q, out.o);
  state.add(in.phi_k, in.v);
  state.write(out);
}

template <class T>
void outer_transposed(const In<T>& in, const Out<T>& out) {
  with_state(in, out, [&](State<T>& state) {
    const Index c = state.S.extent(0), m = state.S.extent(1);
    for (Index a = 0; a < c; ++a) {
      for (Index b = 0; b < m; ++b) state.S(a, b) = state.S(a, b) + in.v(a % m) * in.phi_k(b % c);
      state.Z(a) = state.Z(a) + in.phi_k(a);
    }
  });
}

template <class T>
void state_overwritten(const In<T>& in, const Out<T>& out) {
  with_state(in, out, [&](State<T>& state) {
    state = State<T>(state.S.extent(0), state.S.extent(1));
    state.add(in.phi_k, in.v);
  });
}

template <class T>
void normaliser_not_carried(const In<T>& in, const Out<T>& out) {
  with_state(in, out, [&](State<T>& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) state.Z(a) = in.phi_k(a);
  });
}

template <class T>
void z_updated_late(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index b) { return right::ratio(in, dot<T>(in.phi_q, state.S.column(b)), dot<T>(in.phi_q, in.Z)); });
}

template <class T>
void z_from_value(const In<T>& in, const Out<T>& out) {
  with_state(in, out, [&](State<T>& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) state.Z(a) = in.Z(a) + in.v(a % in.v.extent(0));
  });
}

template <class T>
void decay(const In<T>& in, const Out<T>& out, const T& c) {
  with_state(in, out, [&](State<T>& state) {
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = state.S(a, b) * (T(1) - c);
      state.Z(a) = state.Z(a) * (T(1) - c);
    }
    state.add(in.phi_k, in.v);
  });
}

template <class T>
void denominator_missing(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index b) { return dot<T>(in.phi_q, state.S.column(b)); });
}

template <class T>
void denominator_not_inverted(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index b) { return T(dot<T>(in.phi_q, state.S.column(b)) * (dot<T>(in.phi_q, state.Z) + T(in.eps))); });
}

template <class T>
void denominator_elementwise(const In<T>& in, const Out<T>& out) {
  with_output(in, out, [&](const State<T>& state, Index b) {
    return sum(state.Z.extent(), [&](Index a) { return in.phi_q(a) * right::ratio(in, T(state.S(a, b)), T(state.Z(a))); });
  });
}

template <class T>
void eps_added(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = in.eps + 1e-5;
  right::update_then_read(other, out);
}

template <class T>
void eps_ignored(const In<T>& in, const Out<T>& out) {
  In<T> other = in;
  other.eps = 0;
  right::update_then_read(other, out);
}

template <class T>
void bf16_state(const In<T>& in, const Out<T>& out) {
  with_state(in, out, [&](State<T>& state) {
    state.add(in.phi_k, in.v);
    for (Index a = 0; a < state.Z.extent(); ++a) {
      for (Index b = 0; b < state.S.extent(1); ++b) state.S(a, b) = kept_in(DType::bf16, state.S(a, b));
      state.Z(a) = kept_in(DType::bf16, state.Z(a));
    }
  });
}

}  // namespace attest::faults::linear::causal_step
