// SPDX-License-Identifier: MIT
#pragma once

#include <climits>

#include "attest/cuda/call.hpp"
#include "attest/cuda/tiles.hpp"

/// Products of the rows of two matrices, which scores of tokens and of positions are made of, forward and backward.

namespace attest::cuda {

/// answer_ij = factor a_i . b_j + addend_ij, for every sequence and head; as many rows j as answers have columns.
struct Scores {
  Rows a{}, b{};         // [rows, depth], [columns, depth]
  Sequences rows{};      // of a; all sequences have as many
  float factor = 1;
  Rows addend{};         // where there is data
  int last_diagonal = INT_MAX;  // where j - i is more, the answer is 0
  Answers answers{};
};
template <class T, class Factor>
void multiply_rows(Call& call, const Scores& scores);

/// The columns of a matrix of so many rows as rows.
inline Rows transposed(const Rows& matrix, Index rows) {
  Rows t = matrix;
  t.place.row = matrix.place.column;
  t.place.column = matrix.place.row;
  t.stored = static_cast<int>(rows);
  return t;
}

/// x w and x w + addend for every row of x, in the workspace.
template <class T, class Factor>
Rows project(Call& call, const Sequences& rows, const Rows& x, const Rows& w, const Rows& addend = {}) {
  const Answers products = call.workspace_rows(rows, w.stored);
  multiply_rows<T, Factor>(call, {.a = x, .b = transposed(w, x.stored), .rows = rows, .addend = addend, .answers = products});
  return read_back(products);
}

/// a^T b, where both have as many rows.
template <class T, class Factor>
void multiply_columns(Call& call, const Sequences& rows, const Rows& a, const Rows& b, const Answers& answers, float factor = 1, const Rows& addend = {}) {
  multiply_rows<T, Factor>(call, {.a = transposed(a, rows.length),
                                  .b = transposed(b, rows.length),
                                  .rows = {.length = a.stored, .count = rows.count},
                                  .factor = factor,
                                  .addend = addend,
                                  .answers = answers});
}

/// x + y, in the workspace.
template <class T>
Rows add_rows(Call& call, const Sequences& rows, const Rows& x, const Rows& y);

/// sum_i x_ij, in float: a sum is no product for which its terms might be rounded.
template <class T>
void sum_rows(Call& call, const Sequences& rows, const Rows& x, const Answers& sums);

}  // namespace attest::cuda
