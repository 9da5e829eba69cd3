// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "attest/array.hpp"

namespace attest::judge {

/// The largest error / bound by position in an output, over cases of any size. Rows are all axes but the last one,
/// columns the last. The first positions have a bin each, later ones four bins between powers of two, so that each
/// length of a tile begins a bin.
class ErrorMap {
public:
  static constexpr Index kMost = 48;    // bins along either axis; the last one has all positions beyond
  static constexpr Index kSingle = 16;  // positions with a bin of their own

  static Index bin_of(Index position);
  /// The first position of a bin.
  static Index first_of(Index bin);

  void add(Index row, Index column, double ratio);

  /// Bins in use.
  Index rows() const { return rows_; }
  Index columns() const { return columns_; }

  /// Of a bin; nothing where no case has an element.
  std::optional<double> largest(Index row, Index column) const;

  /// All that it holds, for whoever stores it.
  friend auto members(ErrorMap& map) { return std::tie(map.rows_, map.columns_, map.largest_); }
  friend auto members(const ErrorMap& map) { return std::tie(map.rows_, map.columns_, map.largest_); }

private:
  Index rows_ = 0, columns_ = 0;
  std::vector<double> largest_;  // kMost x kMost; below 0 where there is none
};

}  // namespace attest::judge
