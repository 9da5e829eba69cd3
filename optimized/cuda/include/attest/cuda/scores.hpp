// SPDX-License-Identifier: MIT
#pragma once

#include "attest/cuda/dense.hpp"
#include "attest/cuda/tiles.hpp"

/// Products of the rows of two matrices, which scores of tokens and of positions are made of, forward and backward.

namespace attest::cuda {

/// output_ij = factor a_i . b_j + addend_ij, for every sequence and head; b has as many rows as the output has columns.
struct Scores {
  Rows a{}, b{};     // [rows, depth], [columns, depth]
  Sequences rows{};  // of a, 64 in a chunk; all sequences have as many
  float factor = 1;
  Rows addend{};                // where there is data
  int last_diagonal = INT_MAX;  // where j - i is more, the output is 0
  OutputRows output{};
};
template <class T, class Factor>
void multiply_rows(Call& call, const Scores& x) {
  dense<T, Factor>(call, {.tokens = x.rows,
                          .x = x.a,
                          .w = Weights{x.b, x.output.width}.transposed(),
                          .factor = x.factor,
                          .addend = x.addend,
                          .last_diagonal = x.last_diagonal,
                          .y = x.output});
}

/// x w and x w + addend for every row of x, in the workspace.
template <class T, class Factor>
Rows project(Call& call, const Sequences& rows, const Rows& x, const Rows& w, const Rows& addend = {}) {
  const OutputRows products = call.workspace_rows(rows, w.stored);
  dense<T, Factor>(call, {.tokens = rows, .x = x, .w = {w, x.stored}, .addend = addend, .y = products});
  return read_back(products);
}

/// a^T b, where both have as many rows.
template <class T, class Factor>
void multiply_columns(Call& call, const Sequences& rows, const Rows& a, const Rows& b, const OutputRows& output,
                      float factor = 1, const Rows& addend = {}) {
  const int height = static_cast<int>(rows.length);
  dense<T, Factor>(call, {.tokens = {.length = a.stored, .count = rows.count, .chunk = kTile},
                          .x = Weights{a, height}.transposed().rows,
                          .w = {b, height},
                          .factor = factor,
                          .addend = addend,
                          .y = output});
}

/// x + y, in the workspace.
template <class T>
Rows add_rows(Call& call, const Sequences& rows, const Rows& x, const Rows& y);

/// sum_i x_ij, in float: a product with ones would round the terms.
template <class T>
void sum_rows(Call& call, const Sequences& rows, const Rows& x, const OutputRows& sums);

}  // namespace attest::cuda
