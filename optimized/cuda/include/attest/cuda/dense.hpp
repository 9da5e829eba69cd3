// SPDX-License-Identifier: MIT
#pragma once

#include <climits>

#include "attest/cuda/call.hpp"

/// Dense layers, y = x w + b for all tokens, and their gradients. Like every tensor of a call, weights are those of a
/// sequence and head.

namespace attest::cuda {

/// [rows, columns] for every sequence and head, or for every head of the equation in each of those.
struct Weights {
  Rows rows{};
  int height = 0;

  int width() const { return rows.stored; }
  Weights transposed() const {
    Weights t = *this;
    std::swap(t.rows.place.row, t.rows.place.column);
    std::swap(t.rows.stored, t.height);
    return t;
  }
};

inline Weights weights(const Call& call, const char* name) {
  return {call.rows_of_sequence(name), static_cast<int>(call.input(name)->shape[2])};
}
/// [own heads, rows, columns]
inline Weights weights_of_own_heads(const Call& call, const char* name) {
  Weights w{call.rows_of_own_heads(name), static_cast<int>(call.input(name)->shape[3])};
  w.rows.place.own = static_cast<int>(call.input(name)->shape[2]);
  return w;
}
/// One number for each column, the same for all tokens; no data where the call has none.
inline Rows bias(const Call& call, const char* name) { return call.rows_of_sequence(name); }

/// y_i = (factor x_i w + bias) slope(sloped_i) + addend_i; terms without data are left out.
struct Dense {
  Sequences tokens{};  // 64 in a chunk
  Rows x{};
  Weights w{};
  float factor = 1;
  Rows bias{}, sloped{}, addend{};
  int last_diagonal = INT_MAX;  // where column - i is more, y is 0
  OutputRows y{};
  int summed = 1;  // y is the sum over so many heads of x and w: those of the equation in a head of the call
  bool one_after_other = false;  // each head's sum by itself, then their sum
};
template <class T, class Factor>
void dense(Call& call, const Dense& layer);

/// grad_w = sum_i x_i^T grad_y_i and grad_bias = sum_i grad_y_i over the tokens of a sequence. An output without width
/// is not computed.
struct DenseGradient {
  Sequences tokens{};
  Rows x{}, grad_y{};
  OutputRows grad_w{}, grad_bias{};
};
template <class T, class Factor>
void dense_gradient(Call& call, const DenseGradient& gradient);

/// Two layers with an activation between: act(x w_1 + b_1) w_2 + b_2.
struct FeedForward {
  Sequences tokens{};
  Rows x{};
  Weights w_1{}, w_2{};
  Rows b_1{}, b_2{};
  Map activation{};

  /// With the weights and the activation of a call; all equations name them alike.
  static FeedForward of(const Call& call, const Sequences& tokens, const Rows& x) {
    return {tokens,
            x,
            weights(call, "w_1"),
            weights(call, "w_2"),
            bias(call, "b_1"),
            bias(call, "b_2"),
            call.map("activation")};
  }

  /// u = x w_1 + b_1, read as act(u).
  template <class T, class Factor>
  Rows hidden(Call& call) const {
    const OutputRows u = call.workspace_rows(tokens, w_1.width());
    dense<T, Factor>(call, {.tokens = tokens, .x = x, .w = w_1, .bias = b_1, .y = u});
    Rows rows = read_back(u);
    rows.map = activation;
    return rows;
  }
  /// y = act(u) w_2 + b_2 + residual
  template <class T, class Factor>
  void output(Call& call, const Rows& hidden, const Rows& residual, const OutputRows& y) const {
    dense<T, Factor>(call, {.tokens = tokens, .x = hidden, .w = w_2, .bias = b_2, .addend = residual, .y = y});
  }
  /// grad_u = (grad_y w_2^T) act'(u)
  template <class T, class Factor>
  Rows hidden_gradient(Call& call, const Rows& hidden, const Rows& grad_y) const {
    const OutputRows grad_u = call.workspace_rows(tokens, w_1.width());
    dense<T, Factor>(call, {.tokens = tokens, .x = grad_y, .w = w_2.transposed(), .sloped = hidden, .y = grad_u});
    return read_back(grad_u);
  }
};

}  // namespace attest::cuda
