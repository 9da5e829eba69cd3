// SPDX-License-Identifier: MIT
// The numbers of reports: digits that a kernel's author can use, and none that the processor decides.
#include <gtest/gtest.h>

#include <limits>

#include "attest/judge/bank.hpp"

namespace attest::judge {
namespace {

Fit fit(double c, double error) {
  Fit one;
  one.c = c, one.error = error, one.z = c / error;
  return one;
}

TEST(Numbers, CHasTheDigitsThatItsErrorLeaves) {
  EXPECT_EQ(fit(0.0609123, 0.00093).text(), "c = 0.0609 +- 0.0009, z = 65");
  EXPECT_EQ(fit(-0.98765, 0.012).text(), "c = -0.99 +- 0.01, z = -82");
  EXPECT_EQ(fit(3.3, 40).text(), "c = 3 +- 4e+01, z = 0.082");
  EXPECT_EQ(fit(1, 1.0 / 512345).text(), "c = 1 +- 2e-06, z = 510000");
}

TEST(Numbers, BeyondDoubtTheProcessorsDigitsAreNotShown) {
  for (const double z : {9.16e7, 9.37e7, 9.59e7}) EXPECT_EQ(fit(1 + 1e-8, 1 / z).text(), "c = 1, beyond doubt");
  EXPECT_EQ(fit(-2, 0).text(), "c = -2, beyond doubt");
  EXPECT_EQ(text_of_z(-1e6), "beyond doubt");
  EXPECT_EQ(text_of_z(9.9e5), "z = 990000");
  EXPECT_EQ(text_of_z(std::numeric_limits<double>::quiet_NaN()), "z = nan");
}

TEST(Numbers, TwoDigits) {
  for (const auto& [x, text] : std::initializer_list<std::pair<double, const char*>>{{0.0243, "0.024"},
                                                                                     {0.996, "1"},
                                                                                     {1.04, "1.0"},
                                                                                     {9.96, "10.0"},
                                                                                     {64.9, "65"},
                                                                                     {-88.4, "-88"},
                                                                                     {99.97, "100"},
                                                                                     {937, "940"},
                                                                                     {35449, "35000"},
                                                                                     {1.23e6, "1.2e+06"},
                                                                                     {0, "0"}})
    EXPECT_EQ(two_digits(x), text);
}

}  // namespace
}  // namespace attest::judge
