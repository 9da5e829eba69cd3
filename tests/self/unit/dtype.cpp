// SPDX-License-Identifier: MIT
#include "attest/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr DType every_dtype[] = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::boolean};

double decoded(DType dtype, std::uint16_t pattern) {
  std::byte bytes[2];
  std::memcpy(bytes, &pattern, 2);
  double value = 0;
  decode(dtype, bytes, {&value, 1});
  return value;
}

std::uint16_t encoded(DType dtype, double value) {
  std::byte bytes[2];
  encode(dtype, {&value, 1}, bytes);
  std::uint16_t pattern = 0;
  std::memcpy(&pattern, bytes, 2);
  return pattern;
}

/// The 16-bit formats from their definition, with none of the code under test.
struct Small {
  DType dtype;
  int exponent_bits;
  int fraction_bits;

  int infinity_pattern() const { return ((1 << exponent_bits) - 1) << fraction_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double magnitude(int pattern) const {
    const int exponent = pattern >> fraction_bits;
    const int fraction = pattern & ((1 << fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits);
    return std::ldexp((1 << fraction_bits) + fraction, exponent - bias() - fraction_bits);
  }
  /// The number that would come after the largest: rounding to infinity is decided halfway to it.
  double beyond() const { return std::ldexp(1.0, bias() + 1); }

  /// Finite magnitudes in order; the index is the pattern.
  std::vector<double> magnitudes() const {
    std::vector<double> result;
    for (int pattern = 0; pattern < infinity_pattern(); ++pattern) result.push_back(magnitude(pattern));
    return result;
  }
};

class SmallFormats : public testing::TestWithParam<Small> {};
INSTANTIATE_TEST_SUITE_P(All, SmallFormats, testing::Values(Small{DType::bf16, 8, 7}, Small{DType::f16, 5, 10}),
                         [](const auto& at) { return std::string(name(at.param.dtype)); });

TEST_P(SmallFormats, EveryPatternDecodesToItsValueAndBack) {
  const Small format = GetParam();
  for (int pattern = 0; pattern <= 0xffff; ++pattern) {
    const int low = pattern & 0x7fff;
    const bool negative = pattern > 0x7fff;
    const double value = decoded(format.dtype, static_cast<std::uint16_t>(pattern));
    const std::uint16_t back = encoded(format.dtype, value);
    if (low > format.infinity_pattern()) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_GT(back & 0x7fff, format.infinity_pattern()) << pattern << " must stay NaN";
      continue;
    }
    const double magnitude = low == format.infinity_pattern() ? infinity : format.magnitude(low);
    ASSERT_EQ(value, negative ? -magnitude : magnitude) << pattern;
    ASSERT_EQ(std::signbit(value), negative) << pattern;
    ASSERT_EQ(back, pattern);
    ASSERT_TRUE(exact_in(format.dtype, value)) << pattern;
    ASSERT_EQ(round_to(format.dtype, value), value) << pattern;
  }
}

TEST_P(SmallFormats, EveryMidpointTiesToEvenAndItsNeighboursDoNot) {
  const Small format = GetParam();
  for (int pattern = 0; pattern < format.infinity_pattern(); ++pattern) {
    const double low = format.magnitude(pattern);
    const double high = pattern + 1 == format.infinity_pattern() ? format.beyond() : format.magnitude(pattern + 1);
    const double middle = low + (high - low) / 2;  // exact: it needs one bit more than the format has
    const int even = pattern + (pattern & 1);
    for (const int sign : {0, 0x8000}) {
      const double s = sign ? -1 : 1;
      ASSERT_EQ(encoded(format.dtype, s * std::nextafter(middle, 0)), sign | pattern) << low;
      ASSERT_EQ(encoded(format.dtype, s * middle), sign | even) << low;
      ASSERT_EQ(encoded(format.dtype, s * std::nextafter(middle, infinity)), sign | (pattern + 1)) << low;
      ASSERT_EQ(encoded(format.dtype, s * std::nextafter(low, infinity)), sign | pattern) << low;
      ASSERT_EQ(encoded(format.dtype, s * std::nextafter(high, 0)), sign | (pattern + 1)) << low;
      ASSERT_FALSE(exact_in(format.dtype, s * middle)) << low;
    }
  }
}

TEST_P(SmallFormats, RandomBinary64RoundToTheNearestEntryOfTheTable) {
  const Small format = GetParam();
  const auto table = format.magnitudes();
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 200000; ++i) {
    // Exponents from well below the subnormals to above overflow.
    const int exponent =
        static_cast<int>(random() % static_cast<unsigned>(2 * format.bias() + 40)) - format.bias() - 30;
    const double x = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, exponent);
    const auto above = std::upper_bound(table.begin(), table.end(), x);
    const double low = *(above - 1);
    const double high = above == table.end() ? format.beyond() : *above;
    // The distances are exact but for x far below the smallest number, where only their order counts.
    double expected = x - low < high - x ? low : high;
    if (x - low == high - x) expected = (above - table.begin()) % 2 == 1 ? low : high;
    if (expected == format.beyond()) expected = infinity;
    ASSERT_EQ(round_to(format.dtype, x), expected) << x;
    ASSERT_EQ(round_to(format.dtype, -x), -expected) << x;
    ASSERT_EQ(decoded(format.dtype, encoded(format.dtype, x)), expected) << x;
    ASSERT_EQ(exact_in(format.dtype, x), x == expected) << x;
  }
}

TEST_P(SmallFormats, ExtremesOfBinary64) {
  const DType dtype = GetParam().dtype;
  for (const double tiny : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(), 0.0}) {
    EXPECT_EQ(encoded(dtype, tiny), 0);
    EXPECT_EQ(encoded(dtype, -tiny), 0x8000);
    EXPECT_TRUE(std::signbit(round_to(dtype, -tiny)));
    EXPECT_FALSE(std::signbit(round_to(dtype, tiny)));
  }
  for (const double huge : {std::numeric_limits<double>::max(), infinity}) {
    EXPECT_EQ(encoded(dtype, huge), GetParam().infinity_pattern());
    EXPECT_EQ(encoded(dtype, -huge), 0x8000 | GetParam().infinity_pattern());
    EXPECT_EQ(round_to(dtype, -huge), -infinity);
  }
}

// Each x lies just off a tie of the format by less than binary32 can tell, so a detour through float gets it wrong.
struct Trap {
  DType dtype;
  double x;
  double right;
};

TEST(Rounding, IsDoneOnce) {
  const Trap traps[] = {
      {DType::f16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
      {DType::f16, 1 + 3 * 0x1p-11 - 0x1p-40, 1 + 0x1p-10},
      {DType::f16, 65520 - 0x1p-20, 65504},
      {DType::f16, 0x1p-25 + 0x1p-70, 0x1p-24},
      {DType::f16, 3 * 0x1p-25 - 0x1p-60, 0x1p-24},
      {DType::bf16, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
      {DType::bf16, 1 + 3 * 0x1p-8 - 0x1p-40, 1 + 0x1p-7},
      {DType::bf16, 0x1.ffp127 - 0x1p80, 0x1.fep127},
      {DType::bf16, 0x1p-134 + 0x1p-160, 0x1p-133},
      {DType::bf16, 3 * 0x1p-134 - 0x1p-160, 0x1p-133},
  };
  for (const auto& [dtype, x, right] : traps) {
    ASSERT_NE(round_to(dtype, static_cast<double>(static_cast<float>(x))), right) << x << " is no trap";
    for (const double sign : {1.0, -1.0}) {
      EXPECT_EQ(round_to(dtype, sign * x), sign * right) << name(dtype) << ' ' << x;
      EXPECT_EQ(decoded(dtype, encoded(dtype, sign * x)), sign * right) << name(dtype) << ' ' << x;
    }
  }
}

TEST(Rounding, Binary32) {
  EXPECT_EQ(round_to(DType::f32, 1 + 0x1p-24), 1);
  EXPECT_EQ(round_to(DType::f32, 1 + 3 * 0x1p-24), 1 + 0x1p-22);
  EXPECT_EQ(round_to(DType::f32, std::nextafter(1 + 0x1p-24, 2)), 1 + 0x1p-23);
  EXPECT_EQ(round_to(DType::f32, 0x1p-150), 0);
  EXPECT_EQ(round_to(DType::f32, std::nextafter(0x1p-150, 1)), 0x1p-149);
  EXPECT_EQ(round_to(DType::f32, 0x1.ffffffp127), infinity);
  EXPECT_EQ(round_to(DType::f32, std::nextafter(0x1.ffffffp127, 0)), 0x1.fffffep127);
}

TEST(Rounding, NanStaysNan) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    EXPECT_TRUE(std::isnan(round_to(dtype, nan))) << name(dtype);
    EXPECT_TRUE(exact_in(dtype, nan)) << name(dtype);
    // A payload in the low bits alone is lost, but must not leave an infinity behind.
    double thin = 0;
    const std::uint64_t bits = 0x7ff0000000000001;
    std::memcpy(&thin, &bits, sizeof thin);
    EXPECT_TRUE(std::isnan(round_to(dtype, thin))) << name(dtype);
  }
}

TEST(Rounding, Integers) {
  EXPECT_EQ(round_to(DType::i64, 2.5), 2);
  EXPECT_EQ(round_to(DType::i64, 3.5), 4);
  EXPECT_EQ(round_to(DType::i64, -0.75), -1);
  EXPECT_TRUE(exact_in(DType::i64, -0x1p63));
  EXPECT_TRUE(exact_in(DType::i64, 0x1p53));
  EXPECT_FALSE(exact_in(DType::i64, 0.5));
}

TEST(ExactIn, IntegersAndBooleansHaveNoInfinityAndNoNan) {
  for (const DType dtype : {DType::i64, DType::boolean}) {
    for (const double x : {infinity, -infinity, nan}) EXPECT_FALSE(exact_in(dtype, x)) << name(dtype) << ' ' << x;
  }
  EXPECT_FALSE(exact_in(DType::i64, 0x1p63));
  EXPECT_FALSE(exact_in(DType::boolean, 2));
}

TEST(Memory, EveryDtypeStoresAtItsOwnSizeEvenUnaligned) {
  const std::vector<double> values{0, 1, 1, 0, 1};
  for (const DType dtype : every_dtype) {
    const std::size_t size = values.size() * size_of(dtype);
    std::vector<std::byte> bytes(size + 2, std::byte{0xa5});
    encode(dtype, values, bytes.data() + 1);
    EXPECT_EQ(bytes.front(), std::byte{0xa5}) << name(dtype);
    EXPECT_EQ(bytes.back(), std::byte{0xa5}) << name(dtype);
    std::vector<double> back(values.size(), -1);
    decode(dtype, bytes.data() + 1, back);
    EXPECT_EQ(back, values) << name(dtype);
  }
}

TEST(Memory, IntegersKeepTheirEnds) {
  const std::vector<double> values{-0x1p63, -0x1p53, -1, 0, 0x1p53, 0x1p62};
  const std::vector<std::int64_t> integers{INT64_MIN, -(std::int64_t{1} << 53), -1,
                                           0,         std::int64_t{1} << 53,    std::int64_t{1} << 62};
  std::vector<std::byte> bytes(48);
  encode(DType::i64, values, bytes.data());
  EXPECT_EQ(std::memcmp(bytes.data(), integers.data(), 48), 0);
  std::vector<double> back(6);
  decode(DType::i64, bytes.data(), back);
  EXPECT_EQ(back, values);
}

TEST(Memory, KnownPatterns) {
  EXPECT_EQ(encoded(DType::bf16, 1), 0x3f80);
  EXPECT_EQ(encoded(DType::bf16, -2), 0xc000);
  EXPECT_EQ(encoded(DType::bf16, 3.140625), 0x4049);
  EXPECT_EQ(encoded(DType::f16, 1), 0x3c00);
  EXPECT_EQ(encoded(DType::f16, -2), 0xc000);
  EXPECT_EQ(encoded(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(encoded(DType::f16, 0x1p-24), 0x0001);
}

TEST(Names, AreReadAndWritten) {
  const std::pair<DType, const char*> names[] = {{DType::f64, "f64"}, {DType::f32, "f32"}, {DType::bf16, "bf16"},
                                                 {DType::f16, "f16"}, {DType::i64, "i64"}, {DType::boolean, "bool"}};
  const std::size_t sizes[] = {8, 4, 2, 2, 8, 1};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(name(names[i].first), names[i].second);
    EXPECT_EQ(dtype_from(names[i].second), names[i].first);
    EXPECT_EQ(size_of(names[i].first), sizes[i]);
  }
}

TEST(Names, AnUnknownOneIsAnsweredWithTheKnown) {
  for (const char* unknown : {"float32", "", "F32", "f3", "f32 "}) {
    try {
      dtype_from(unknown);
      ADD_FAILURE() << '\'' << unknown << "' was taken for a dtype";
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      for (const DType dtype : every_dtype) EXPECT_NE(message.find(name(dtype)), std::string::npos) << message;
      EXPECT_NE(message.find(unknown), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace attest
