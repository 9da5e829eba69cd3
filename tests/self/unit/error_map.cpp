// SPDX-License-Identifier: MIT
#include "attest/judge/error_map.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "attest/judge/statistics.hpp"

namespace attest::judge {
namespace {

TEST(ErrorMap, KeepsTheLargestOfEachPosition) {
  ErrorMap map;
  EXPECT_EQ(map.rows(), 0);
  map.add(2, 1, 0.5), map.add(2, 1, 0.25), map.add(0, 4, 0);
  EXPECT_EQ(map.rows(), 3);
  EXPECT_EQ(map.columns(), 5);
  EXPECT_EQ(map.largest(2, 1), 0.5);
  EXPECT_EQ(map.largest(0, 4), 0);
  EXPECT_EQ(map.largest(1, 1), std::nullopt);
}

TEST(ErrorMap, LengthsOfTilesBeginBins) {
  for (const Index tile : {8, 16, 32, 64, 128, 1024}) {
    EXPECT_EQ(ErrorMap::first_of(ErrorMap::bin_of(tile)), tile);
    EXPECT_EQ(ErrorMap::bin_of(tile - 1), ErrorMap::bin_of(tile) - 1);
  }
  for (Index position = 0; position < 5000; ++position) {
    const Index bin = ErrorMap::bin_of(position);
    EXPECT_LE(ErrorMap::first_of(bin), position);
    if (bin + 1 < ErrorMap::kMost) {
      EXPECT_GT(ErrorMap::first_of(bin + 1), position);
    }
  }
}

TEST(ErrorMap, NeighboursShareABinWhereThereAreMany) {
  ErrorMap map;
  for (Index row = 0; row < 200; ++row) map.add(row, 0, row == 37 ? 7.0 : row == 199 ? 3.0 : 0.5);
  EXPECT_EQ(map.rows(), ErrorMap::bin_of(199) + 1);
  for (Index bin = 0; bin < map.rows(); ++bin)
    EXPECT_EQ(map.largest(bin, 0), bin == ErrorMap::bin_of(37) ? 7 : bin == ErrorMap::bin_of(199) ? 3 : 0.5) << bin;
  map.add(0, 1000000, std::numeric_limits<double>::infinity());
  EXPECT_EQ(map.columns(), ErrorMap::kMost);
  EXPECT_EQ(map.largest(0, ErrorMap::kMost - 1), std::numeric_limits<double>::infinity());
}

TEST(Histogram, CountsOnBothSidesAndBeyond) {
  Histogram histogram;
  for (const double r : {0.0, -0.0, 0.005, -0.005, -5.0, 4.999, 5.0, 1e300, -5.01}) histogram.add(r);
  const std::size_t middle = Histogram::kPerUnit * Histogram::kUnits;
  EXPECT_EQ(histogram.exact, 2);
  EXPECT_EQ(histogram.bins[middle], 1);
  EXPECT_EQ(histogram.bins[middle - 1], 1);
  EXPECT_EQ(histogram.bins.front(), 1);
  EXPECT_EQ(histogram.bins.back(), 1);
  EXPECT_EQ(histogram.below, 1);
  EXPECT_EQ(histogram.above, 2);
}

}  // namespace
}  // namespace attest::judge
