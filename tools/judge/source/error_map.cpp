// SPDX-License-Identifier: MIT
#include "attest/judge/error_map.hpp"

#include <algorithm>

namespace attest::judge {
namespace {

constexpr double kNone = -1;

std::size_t place(Index row, Index column) { return static_cast<std::size_t>(row * ErrorMap::kMost + column); }

}  // namespace

void ErrorMap::add(Index row, Index column, double ratio) {
  if (largest_.empty()) largest_.assign(kMost * kMost, kNone);
  while (row / rows_of_bin_ >= kMost) halve(true);
  while (column / columns_of_bin_ >= kMost) halve(false);
  rows_ = std::max(rows_, row + 1);
  columns_ = std::max(columns_, column + 1);
  double& largest = largest_[place(row / rows_of_bin_, column / columns_of_bin_)];
  largest = std::max(largest, ratio);
}

void ErrorMap::halve(bool rows) {
  std::vector<double> halved(largest_.size(), kNone);
  for (Index row = 0; row < kMost; ++row)
    for (Index column = 0; column < kMost; ++column) {
      double& to = halved[rows ? place(row / 2, column) : place(row, column / 2)];
      to = std::max(to, largest_[place(row, column)]);
    }
  largest_ = std::move(halved);
  (rows ? rows_of_bin_ : columns_of_bin_) *= 2;
}

std::optional<double> ErrorMap::largest(Index row, Index column) const {
  const double largest = largest_.at(place(row, column));
  return largest < 0 ? std::nullopt : std::optional(largest);
}

}  // namespace attest::judge
