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

TEST(ErrorMap, NeighboursShareABinWhereThereAreMany) {
  ErrorMap map;
  for (Index row = 0; row < 200; ++row) map.add(row, 0, row == 37 ? 7.0 : row == 199 ? 3.0 : 0.5);
  EXPECT_EQ(map.rows_of_bin(), 8);
  EXPECT_EQ(map.rows(), 25);
  EXPECT_EQ(map.columns_of_bin(), 1);
  for (Index bin = 0; bin < map.rows(); ++bin)
    EXPECT_EQ(map.largest(bin, 0), bin == 37 / 8 ? 7 : bin == 199 / 8 ? 3 : 0.5) << bin;
  map.add(0, 48, std::numeric_limits<double>::infinity());
  EXPECT_EQ(map.columns(), 25);
  EXPECT_EQ(map.largest(0, 24), std::numeric_limits<double>::infinity());
  EXPECT_EQ(map.largest(4, 0), 7);
}

TEST(Histogram, CountsOnBothSidesAndBeyond) {
  Histogram histogram;
  for (const double r : {0.0, 0.06, -0.06, 0.07, -5.0, 5.06, 5.07, 1e300, -6.0}) histogram.add(r);
  const std::size_t middle = Histogram::kPerUnit * Histogram::kUnits;
  EXPECT_EQ(histogram.bins[middle], 3);
  EXPECT_EQ(histogram.bins[middle + 1], 1);
  EXPECT_EQ(histogram.bins[middle - 1], 0);
  EXPECT_EQ(histogram.bins.front(), 1);
  EXPECT_EQ(histogram.bins.back(), 1);
  EXPECT_EQ(histogram.below, 1);
  EXPECT_EQ(histogram.above, 2);
}

}  // namespace
}  // namespace attest::judge
