// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attest/spec.hpp"

namespace attest::judge {

/// Effective weights of a kernel that failed, read by unit probes: output row i is sum_j weight(i, j) input row j.
struct WeightMap {
  std::string input, output;                 // "v", "o"
  std::string query;                         // of the case that was probed
  std::string head;                          // "" or which problem of the batch
  Index rows = 0, columns = 0;               // rows of the output (queries), rows of the input (keys)
  std::vector<double> got, expected, bound;  // rows x columns, row by row
  std::vector<std::string> sentences;        // what the map shows, the most telling first; empty where nothing simple
};

/// What is called a row and a column of a map.
struct MapNouns {
  std::string row = "query", rows = "queries", column = "key", columns = "keys";
};

/// Weights that a mix-up would give: "answers as head 0".
struct OtherWeights {
  std::string text;
  std::vector<double> weights;  // as WeightMap::expected
};

/// What sentences may refer to beside the numbers of the map.
struct MapContext {
  MapNouns nouns{};
  Sizes sizes{};  // of the case, which factors are compared with
  std::vector<OtherWeights> others{};
  bool patterns_alone = false;  // no sentence that says only where weights are wrong, or that all are 0 or NaN
};

/// How one weight differs from what is due.
enum class Weight { right, zero, missing, extra, large, small, not_finite };

/// A small part of the largest bound in a row: what a weight may be off beyond its own bound. Beside the other weights
/// of the row nobody sees it.
double slack_of(const WeightMap& map, Index row);

/// Of each weight, row by row; `zero`: right, and nothing is due.
std::vector<Weight> compared(const WeightMap& map);

/// What holds for all wrong weights of a map, in terms of its rows and columns; where it holds for some, how many. No
/// sentence where nothing simple holds.
std::vector<std::string> sentences_of(const WeightMap& map, const MapContext& context = {});

/// The map in characters, with the numbers of rows and columns, and a line that says what the characters mean. Where it
/// has more rows or columns than fit, a character stands for a block and shows the worst of it.
std::string drawn(const WeightMap& map, std::size_t width = 80, std::size_t height = 40);

}  // namespace attest::judge
