// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "attest/cuda/empty_row.hpp"
#include "attest/cuda/seen.hpp"

/// Softmax attention tile by tile, forward and backward. Nothing of the size of queries times keys is kept: a block
/// takes the scores of 64 queries and 64 keys again wherever it needs them.

namespace attest::cuda {

/// How a weight depends on query and key, before it is divided by the sum of its row.
enum class Similarity {
  exp_product,   // e^l, l_ij = scale q_i . k_j + bias_ij: softmax
  exp_distance,  // e^l, l_ij = scale |q_i - k_j|^2
  power,         // (scale q_i . k_j + offset)^power, of either sign
};

/// What makes a logit beside the scaled product and causal order: nothing, the bits of masks and patterns, or anything.
/// Kernels of warpgroups are compiled for each.
enum class Terms { none, seen, any };

/// Relative positions, clipped (Shaw et al. 2018): key j has row r_ij = max(-c, min(c, j - i - offset)) + c of 2c + 1.
struct Relative {
  int c = 0, offset = 0;
  Rows scores{};     // [n, 2c + 1] of floats, added to q_i . k_j
  Rows gradients{};  // the same to grad_o_i . v_j

  __device__ int row_of(int i, int j) const {
    const int place = j - i - offset;
    return (place < -c ? -c : place > c ? c : place) + c;
  }
};

/// l_ij = scale q_i . k_j + bias_ij - slope |i + past - j|, and -inf where query i does not see key j. The last query
/// is query_offset tokens after the last key: past = s - n + query_offset. A new term of the scores is added here,
/// beside the bias, and in LogitsOf, which every kernel uses. Similarities other than exp_product take scale, mask and
/// causal order only.
struct Logits {
  Rows q{}, k{};
  Sequences queries{}, keys{};
  Similarity similarity = Similarity::exp_product;
  float scale = 1, offset = 0;
  int power = 1;
  int query_offset = 0;
  bool causal = false;     // key j is seen when j <= i + past
  IntDivider segment = 0;  // where it is given: keys of earlier segments of so many tokens are not seen
  Seen seen{};             // of masks and patterns
  Rows bias{};             // [n, s]
  Rows slopes{};           // a number; not together with a bias
  bool by_key = false;     // + slope j in place of the distance: the weights of keys that are not ahead are the same
  Rows factors{};  // floats by |i - j|: f, which multiplies products that are positive (others become 0), and two
                   // derivatives of ln f
  Relative relative{};
  EmptyRow empty_row = EmptyRow::zero;

  bool only_masked() const {
    return !bias.data && !slopes.data && !factors.data && !relative.scores.data && !relative.gradients.data &&
           segment == 0;
  }

  Terms terms() const { return !only_masked() ? Terms::any : seen.words ? Terms::seen : Terms::none; }

  /// Whether a key may be hidden from all queries, so that nothing of it may be read.
  __host__ __device__ bool hides() const { return seen.words || bias.data; }
};

/// The logits of a call by its q, k and scale, and by its mask; logits_of adds causal and bias.
Logits unmasked_products_of(const Call& call);
Logits scaled_products_of(Call& call);
Logits logits_of(Call& call, EmptyRow empty_row);

/// o_i = sum_j a_ij v_j, a = softmax(l) or the weights of another similarity: keys in one pass, with the running
/// maximum and sum of each query.
template <class T, class Factor>
void attend_online(Call& call, const Logits& logits, const Rows& v, const OutputRows& o);

/// Softmax in two passes: the maximum and sum of each query, then the sum over keys. Where weights_by_row [n, 2c + 1]
/// has data, the weights of each relative row are summed, too.
template <class T, class Factor>
void attend_from_statistics(Call& call, const Logits& logits, const Rows& v, const OutputRows& o,
                            const OutputRows& weights_by_row = {});

/// grad_v_j = sum_i a_ij grad_o_i, and with grad_l_ij = a_ij (grad_o_i . v_j - sum_r a_ir grad_o_i . v_r)
/// grad_q_i = scale sum_j grad_l_ij k_j and grad_k_j = scale sum_i grad_l_ij q_i. Of a distance the differences k_j -
/// q_i and q_i - k_j are summed; of a power a_ij is the sum's inverse times its derivative, and the maps of q and k add
/// their slopes.
struct AttentionBackward {
  Rows v{}, grad_o{};
  OutputRows grad_q{}, grad_k{}, grad_v{};
  OutputRows grad_logits{};  // [n, s], where there is data
  OutputRows grad_logits_by_row{},
      weights_by_row{};          // [n, 2c + 1] of floats: their sums over the keys of each relative row
  OutputRows grad_of_factors{};  // [n, 2] of floats: what each query adds to the gradients by the two numbers that f
                                 // depends on
};
/// The gradients of a call with inputs q, k and v and output o.
AttentionBackward gradients_of(const Call& call);

/// An output that is NaN by convention is a constant.
template <class T, class Factor>
void attend_backward(Call& call, Logits logits, const AttentionBackward& backward);

}  // namespace attest::cuda
