// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/linear.hpp"

/// Causal linear attention forward and backward, by each of the three ways to take its sums.

namespace attest::cuda {

enum class Algorithm {
  tokens,    // one after the other
  chunks,    // one chunk after the other, matrix products inside
  parallel,  // totals of all chunks, their prefix sums, then all chunks at once
};

template <Algorithm algorithm, class T, class Factor>
void outputs_by(Call& call, const Product& product) {
  if constexpr (algorithm == Algorithm::tokens) {
    outputs_by_tokens<T>(call, product);
  } else if constexpr (algorithm == Algorithm::chunks) {
    outputs_by_chunks<T, Factor>(call, product);
  } else {
    outputs_of_all_chunks<T, Factor>(call, product);
  }
}

/// Operands and outputs of the backward pass of causal linear attention. For mapped rows the gradients are those with
/// respect to the values before the map.
struct Backward {
  Rows phi_q{}, phi_k{}, v{}, grad_o{};
  Sequences tokens{};
  State initial{};       // [S | Z] before the first token
  State grad_final{};    // gradient of the loss by [S | Z] after the last one
  State grad_initial{};  // to be written: by [S | Z] before the first one
  float eps = 0;
  OutputRows grad_phi_q{}, grad_phi_k{}, grad_v{};
};

/// The gradients of the numerator at G, where [G | e] and [v | 1] may both have their last column, or neither has.
template <Algorithm algorithm, class T, class Factor>
void numerator_gradients(Call& call, const Backward& x, const Rows& G, const Rows& values, const State* states) {
  Rows without_e = G;
  without_e.stored = x.v.stored;
  Product grad_phi_q{.a = G,
                     .b = values,
                     .c = x.phi_k,
                     .order = Order::past,
                     .tokens = x.tokens,
                     .initial = x.initial.transposed(),
                     .output = x.grad_phi_q,
                     .sloped = where_mapped(x.phi_q)};
  Product grad_phi_k{.a = values,
                     .b = G,
                     .c = x.phi_q,
                     .order = Order::future,
                     .tokens = x.tokens,
                     .initial = x.grad_final.transposed(),
                     .final = x.grad_initial.transposed(),
                     .output = x.grad_phi_k,
                     .sloped = where_mapped(x.phi_k)};
  Product grad_v{.a = x.phi_k,
                 .b = x.phi_q,
                 .c = without_e,
                 .order = Order::future,
                 .tokens = x.tokens,
                 .initial = x.grad_final,
                 .output = x.grad_v};
  if constexpr (algorithm == Algorithm::parallel) {
    const State past =
        states ? *states : states_of<T, Factor>(call, x.phi_k, values, Order::past, x.tokens, x.initial, {});
    const State future = states_of<T, Factor>(call, x.phi_q, G, Order::future, x.tokens, x.grad_final, x.grad_initial);
    outputs_from_states<T, Factor>(call, grad_phi_q, past.transposed());
    outputs_from_states<T, Factor>(call, grad_phi_k, future.transposed());
    outputs_from_states<T, Factor>(call, grad_v, future);
  } else {
    outputs_by<algorithm, T, Factor>(call, grad_phi_q);
    outputs_by<algorithm, T, Factor>(call, grad_phi_k);
    outputs_by<algorithm, T, Factor>(call, grad_v);
  }
}

/// The whole backward pass: the sums of the forward pass again, the gradient through the division, and the gradients of
/// the numerator.
template <Algorithm algorithm, class T, class Factor>
void backward(Call& call, const Backward& x) {
  Rows values = x.v;
  values.ones = true;
  const OutputRows sums = call.workspace_rows(x.tokens, values.width());
  const Product forward{.a = x.phi_q,
                        .b = x.phi_k,
                        .c = values,
                        .order = Order::past,
                        .tokens = x.tokens,
                        .initial = x.initial,
                        .output = sums};
  State states;
  if constexpr (algorithm == Algorithm::parallel) {
    states = states_of<T, Factor>(call, x.phi_k, values, Order::past, x.tokens, x.initial, {});
    outputs_from_states<T, Factor>(call, forward, states);
  } else {
    outputs_by<algorithm, T, Factor>(call, forward);
  }
  const Rows G = division_gradients<T>(call, x.tokens, sums, x.grad_o, x.eps);
  numerator_gradients<algorithm, T, Factor>(call, x, G, values, &states);
}

/// Causal linear attention with a carried state: phi_q, phi_k, v, S and Z to o, S and Z, by the names of the call.
template <Algorithm algorithm, class T, class Factor>
void causal_value(Call& call, const Sequences& tokens) {
  const Rows phi_q = call.features("phi_q"), phi_k = call.features("phi_k"), v = call.rows("v");
  outputs_by<algorithm, T, Factor>(call, {.a = phi_q,
                                          .b = phi_k,
                                          .c = v,
                                          .order = Order::past,
                                          .tokens = tokens,
                                          .initial = call.initial("S", "Z", phi_k.width(), v.width()),
                                          .final = call.final("S", "Z", phi_k.width(), v.width()),
                                          .division = division_of(call),
                                          .output = call.output_rows("o")});
}

/// The gradients with respect to all five inputs.
template <Algorithm algorithm, class T, class Factor>
void causal_gradient(Call& call, const Sequences& tokens) {
  const Rows phi_k = call.features("phi_k"), v = call.rows("v");
  backward<algorithm, T, Factor>(call,
                                 {.phi_q = call.features("phi_q"),
                                  .phi_k = phi_k,
                                  .v = v,
                                  .grad_o = call.rows("cotangent.o"),
                                  .tokens = tokens,
                                  .initial = call.initial("S", "Z", phi_k.width(), v.width()),
                                  .grad_final = call.initial("cotangent.S", "cotangent.Z", phi_k.width(), v.width()),
                                  .grad_initial = call.final("gradient.S", "gradient.Z", phi_k.width(), v.width()),
                                  .eps = static_cast<float>(call.real("eps")),
                                  .grad_phi_q = call.output_rows("gradient.phi_q"),
                                  .grad_phi_k = call.output_rows("gradient.phi_k"),
                                  .grad_v = call.output_rows("gradient.v")});
}

}  // namespace attest::cuda
