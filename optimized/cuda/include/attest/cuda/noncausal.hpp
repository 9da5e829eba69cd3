// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/linear.hpp"

/// Linear attention of every query to all keys, forward and backward: one state per sequence.

namespace attest::cuda {

/// v with a column of ones: the state of keys and values is then [T | z].
struct Noncausal {
  Rows phi_q{}, phi_k{}, values{};
  Sequences queries{}, keys{};  // keys are summed in chunks, all at once

  /// [T | z] = sum_j phi_k_j [v_j | 1]^T
  template <class T, class Factor>
  State state(Call& call) const {
    return states_of<T, Factor>(call, phi_k, values, Order::all, keys, {}, {});
  }

  /// o_i = phi_q_i^T T / (phi_q_i^T z + eps)
  template <class T, class Factor>
  void attend(Call& call, const Division& division, const OutputRows& o) const {
    const State state = this->state<T, Factor>(call);
    read_state<T, Factor>(call, {.a = phi_q, .tokens = queries, .division = division, .output = o}, state);
  }

  /// With G = grad_o / d and e = -(grad_o . o) / d: grad_phi_q_i = [T | z] [G | e]_i, and from [R | r] = sum_i phi_q_i
  /// [G | e]_i^T grad_phi_k_j = [R | r] [v_j | 1] and grad_v_j = R^T phi_k_j. For mapped rows the gradients are those
  /// with respect to the values before the map.
  template <class T, class Factor>
  void backward(Call& call, float eps, const Rows& grad_o, const OutputRows& grad_q, const OutputRows& grad_k,
                const OutputRows& grad_v) const {
    const State state = this->state<T, Factor>(call);
    const OutputRows sums = call.workspace_rows(queries, values.width());
    read_state<T, Factor>(call, {.a = phi_q, .tokens = queries, .output = sums}, state);
    const Rows G = division_gradients<T>(call, queries, sums, grad_o, eps);
    read_state<T, Factor>(call, {.a = G, .tokens = queries, .output = grad_q, .sloped = where_mapped(phi_q)},
                          state.transposed());
    const State R = states_of<T, Factor>(call, phi_q, G, Order::all, queries, {}, {});
    read_state<T, Factor>(call, {.a = values, .tokens = keys, .output = grad_k, .sloped = where_mapped(phi_k)},
                          R.transposed());
    read_state<T, Factor>(call, {.a = phi_k, .tokens = keys, .output = grad_v}, R);
  }
};

}  // namespace attest::cuda
