// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "attest/array.hpp"

namespace attest::judge {

/// The largest error / bound by position in an output, over cases of any size. Rows are all axes but the last one,
/// columns the last. Neighbours share a bin where an output has more of them than the map.
class ErrorMap {
public:
  static constexpr Index kMost = 48;  // bins along either axis

  void add(Index row, Index column, double ratio);

  Index rows() const { return bins(rows_, rows_of_bin_); }
  Index columns() const { return bins(columns_, columns_of_bin_); }
  Index rows_of_bin() const { return rows_of_bin_; }
  Index columns_of_bin() const { return columns_of_bin_; }

  /// Of a bin; nothing where no case has an element.
  std::optional<double> largest(Index row, Index column) const;

private:
  static Index bins(Index extent, Index of_bin) { return (extent + of_bin - 1) / of_bin; }
  /// Puts every two bins of an axis together.
  void halve(bool rows);

  Index rows_ = 0, columns_ = 0;  // the most of any case
  Index rows_of_bin_ = 1, columns_of_bin_ = 1;
  std::vector<double> largest_;  // kMost x kMost; below 0 where there is none
};

}  // namespace attest::judge
