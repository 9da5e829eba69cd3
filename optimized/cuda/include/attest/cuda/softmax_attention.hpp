// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/cuda/call.hpp"

/// Softmax attention tile by tile, forward and backward. Nothing of the size of queries times keys is kept: a block takes the scores of 64
/// queries and 64 keys again wherever it needs them.

namespace attest::cuda {

/// l_ij = scale q_i . k_j + bias_ij, and -inf where query i does not see key j. What else may change a score belongs here, beside the
/// bias, and into LogitsOf, which every kernel asks.
struct Logits {
  enum class EmptyRow { zero, nan, mean };

  Rows q{}, k{};
  Sequences queries{}, keys{};
  float scale = 1;
  bool causal = false;  // key j is seen when j <= i + (s - n)
  Rows mask{};          // bytes [n, s]: 0 hides
  Rows bias{};          // [n, s]
  EmptyRow empty_row = EmptyRow::zero;  // the weights of a query that sees nothing: 0, NaN, or equal over all keys

  /// Whether a key may be hidden from all queries, so that nothing of it may be read.
  __host__ __device__ bool hides() const { return mask.data || bias.data; }
};

/// The logits that a call's inputs and parameters ask for.
Logits logits_of(const Call& call, Logits::EmptyRow empty_row);

/// o_i = sum_j a_ij v_j, a = softmax(l): keys in one pass, with the running maximum and sum of each query.
template <class T, class Factor>
void attend_online(Call& call, const Logits& logits, const Rows& v, const Answers& o);

/// The same in two passes: the maximum and sum of each query, then the sum over keys.
template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const Answers& o);

/// grad_v_j = sum_i a_ij grad_o_i, and with grad_l_ij = a_ij (grad_o_i . v_j - sum_r a_ir grad_o_i . v_r)
/// grad_q_i = scale sum_j grad_l_ij k_j and grad_k_j = scale sum_i grad_l_ij q_i.
struct AttentionBackward {
  Rows v{}, grad_o{};
  Answers grad_q{}, grad_k{}, grad_v{};
  Answers grad_logits{};  // [n, s], where there is data
};
template <class T, class Factor>
void attend_backward(Call& call, const Logits& logits, const AttentionBackward& backward);

}  // namespace attest::cuda
