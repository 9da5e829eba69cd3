// SPDX-License-Identifier: MIT
// What kernels divide by and share out without a division: IntDivider, Divisor and Turns, on the host.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "attest/cuda/linear.hpp"

#include "attest/cuda/tiles.hpp"

namespace {

using namespace attest::cuda;

constexpr int kMost = std::numeric_limits<int>::max();

TEST(IntDivider, IsTheDivisionOfIntegers) {
  std::mt19937_64 engine(7);
  const auto below = [&](std::int64_t limit) { return static_cast<int>(engine() % static_cast<std::uint64_t>(limit)); };
  const auto holds = [&](int by) {
    const IntDivider divider(by);
    EXPECT_EQ(static_cast<int>(divider), by);
    const auto same = [&](std::int64_t n) {
      if (n < 0 || n > kMost) return;
      const int number = static_cast<int>(n);
      ASSERT_EQ(number / divider, number / by) << number << " / " << by;
      ASSERT_EQ(number % divider, number % by) << number << " % " << by;
    };
    for (const std::int64_t near : {std::int64_t{0}, std::int64_t{by}, std::int64_t{kMost},
                                    std::int64_t{kMost} / by * by, std::int64_t{below(kMost)} / by * by})
      for (std::int64_t n = near - 2; n <= near + 2; ++n) same(n);
    for (int draw = 0; draw < 50; ++draw) same(below(std::int64_t{kMost} + 1));
  };
  for (int by = 1; by <= 3000; ++by) holds(by);
  for (int bit = 1; bit < 31; ++bit)
    for (const int beside : {-1, 0, 1}) holds((1 << bit) + beside);
  for (int draw = 0; draw < 3000; ++draw) holds(1 + below(kMost));
  holds(kMost);
  holds(kMost - 1);
}

/// In units of the last place of the quotient; of a denormal one in the smallest number.
double ulps(float got, double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(static_cast<double>(got) - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST(Divisor, IsWithinTwoUlpOfTheQuotientWhateverTheDenominator) {
  std::mt19937 engine(11);
  const Division division{.wanted = true};
  double worst = 0;
  int quotients = 0;
  for (int draw = 0; draw < 1000000; ++draw) {
    const auto drawn = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(engine())); };
    const float sum = drawn(), denominator = drawn();
    if (!std::isfinite(sum) || !std::isfinite(denominator) || denominator == 0) continue;
    const double want = static_cast<double>(sum) / static_cast<double>(denominator);
    if (std::abs(want) > 0x1p127) continue;  // where it overflows is not said to the last place
    const double off = ulps(Divisor(division, denominator).quotient(sum), want);
    ASSERT_LE(off, 2) << sum << " / " << denominator;
    worst = std::max(worst, off);
    ++quotients;
  }
  EXPECT_GT(quotients, 500000);
  EXPECT_GT(worst, 0.5);  // it does round more than once: the bound is not an empty one
}

TEST(Divisor, FollowsTheConventionForZeroAndWhatIsNotFinite) {
  const auto quotient = [](Division division, float sum, float denominator) {
    return Divisor(division, denominator).quotient(sum);
  };
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(quotient({.wanted = true}, 3, 0), 0);
  EXPECT_FALSE(std::signbit(quotient({.wanted = true}, -3, 0)));
  EXPECT_EQ(quotient({.wanted = true}, nan, 0), 0);
  EXPECT_TRUE(std::isnan(quotient({.wanted = true, .nan_of_zero = true}, 3, 0)));
  EXPECT_EQ(quotient({.wanted = true, .eps = 0.5f}, 3, 0), 6);
  EXPECT_EQ(quotient({.wanted = true, .eps = 0.5f}, 3, -0.5f), 0);
  EXPECT_EQ(quotient({.wanted = true}, 3, infinity), 0);
  EXPECT_TRUE(std::isnan(quotient({.wanted = true}, infinity, infinity)));
  EXPECT_TRUE(std::isnan(quotient({.wanted = true}, 3, nan)));
  EXPECT_EQ(quotient({.wanted = true}, infinity, -2), -infinity);
}

TEST(Turns, GiveEveryPieceOfEveryRowToOneWorker) {
  for (const int workers : {16, 128})
    for (int pieces = 0; pieces <= 70; ++pieces)
      for (const int rows : {0, 1, 7, 64}) {
        std::map<std::pair<int, int>, int> visits;
        for (int mine = 0; mine < workers; ++mine)
          Turns(pieces, workers, mine).each(rows, [&](int row, int piece) { ++visits[{row, piece}]; });
        ASSERT_EQ(visits.size(), static_cast<std::size_t>(pieces) * static_cast<std::size_t>(rows)) << pieces;
        for (const auto& [place, count] : visits) {
          ASSERT_EQ(count, 1);
          ASSERT_LT(place.first, rows);
          ASSERT_LT(place.second, pieces);
        }
      }
}

}  // namespace
