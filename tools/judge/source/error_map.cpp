// SPDX-License-Identifier: MIT
#include "attest/judge/error_map.hpp"

#include <algorithm>

namespace attest::judge {
namespace {

constexpr double kNone = -1;
constexpr Index kPerOctave = 4;  // bins between powers of two

std::size_t place(Index row, Index column) { return static_cast<std::size_t>(row * ErrorMap::kMost + column); }

}  // namespace

Index ErrorMap::bin_of(Index position) {
  if (position < kSingle) return position;
  Index bin = kSingle, power = kSingle;
  for (; position >= 2 * power; power *= 2) bin += kPerOctave;
  return std::min(bin + (position - power) * kPerOctave / power, kMost - 1);
}

Index ErrorMap::first_of(Index bin) {
  if (bin < kSingle) return bin;
  const Index power = kSingle << ((bin - kSingle) / kPerOctave);
  return power + power / kPerOctave * ((bin - kSingle) % kPerOctave);
}

void ErrorMap::add(Index row, Index column, double ratio) {
  if (largest_.empty()) largest_.assign(kMost * kMost, kNone);
  row = bin_of(row), column = bin_of(column);
  rows_ = std::max(rows_, row + 1), columns_ = std::max(columns_, column + 1);
  double& largest = largest_[place(row, column)];
  largest = std::max(largest, ratio);
}

std::optional<double> ErrorMap::largest(Index row, Index column) const {
  const double largest = largest_.at(place(row, column));
  return largest < 0 ? std::nullopt : std::optional(largest);
}

}  // namespace attest::judge
