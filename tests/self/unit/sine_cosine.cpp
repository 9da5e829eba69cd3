// SPDX-License-Identifier: MIT
#include "attest/openmp/engine/sine_cosine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace attest::openmp::engine {
namespace {

void expect_near(long double angle, long double within) {
  const auto [sine, cosine] = sine_cosine(angle);
  EXPECT_LE(std::abs(sine - std::sin(angle)), within) << "sine of " << angle;
  EXPECT_LE(std::abs(cosine - std::cos(angle)), within) << "cosine of " << angle;
}

TEST(SineCosine, IsThatOfTheLibraryToTheLastBitsOf80) {
  for (long double angle = 1e-6L; angle < 3e9L; angle *= 1.0007L)
    for (const long double sign : {1.0L, -1.0L}) expect_near(sign * angle, 0x1p-63L);
}

TEST(SineCosine, IsRightBesideQuarterTurns) {
  constexpr long double kQuarter = std::numbers::pi_v<long double> / 2;
  for (long quarters : {1L, 2L, 3L, 4L, 5L, 1001L, 1000002L, 1000003L, (1L << 31) - 1, 1L << 31, (1L << 31) + 1})
    for (const long double beside : {-0.25L, -1e-9L, 0.0L, 1e-9L, 0.25L})
      expect_near(static_cast<long double>(quarters) * kQuarter + beside, 0x1p-63L);
}

TEST(SineCosine, OfLargeAnglesIsThatOfTheLibrary) {
  for (const long double angle : {1e10L, 1e18L, 1e300L}) expect_near(angle, 0);
}

TEST(SineCosine, OfNoAngleIsNan) {
  for (const long double none :
       {std::numeric_limits<long double>::infinity(), std::numeric_limits<long double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(sine_cosine(none).sine));
    EXPECT_TRUE(std::isnan(sine_cosine(none).cosine));
  }
}

}  // namespace
}  // namespace attest::openmp::engine
