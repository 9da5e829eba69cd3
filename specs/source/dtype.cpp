// SPDX-License-Identifier: MIT
#include "attest/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace attest {
namespace {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);

constexpr std::array<std::pair<DType, std::string_view>, 6> names{{
    {DType::f64, "f64"},
    {DType::f32, "f32"},
    {DType::bf16, "bf16"},
    {DType::f16, "f16"},
    {DType::i64, "i64"},
    {DType::boolean, "bool"},
}};

[[noreturn]] void unknown() { throw std::invalid_argument("not a DType"); }

/// A 16-bit IEEE-style format: sign, exponent field, fraction.
struct Format {
  int exponent_bits;
  int fraction_bits;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int last_exponent() const { return (1 << exponent_bits) - 1; }
  constexpr std::uint64_t infinity() const { return static_cast<std::uint64_t>(last_exponent()) << fraction_bits; }
};

constexpr Format bf16{8, 7};
constexpr Format f16{5, 10};

constexpr std::uint64_t fraction_of_double = (std::uint64_t{1} << 52) - 1;

/// One rounding, in integers, straight from binary64: going through binary32 would round ties twice.
template <Format format>
std::uint16_t to_pattern(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t sign = (bits >> 63) << 15;
  const std::uint64_t fraction = bits & fraction_of_double;
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  constexpr int dropped = 52 - format.fraction_bits;

  if (field == 0x7ff && fraction != 0) {
    // The payload's high bits survive; a payload entirely in the low bits must not turn the NaN into an infinity.
    std::uint64_t payload = fraction >> dropped;
    if (payload == 0) payload = std::uint64_t{1} << (format.fraction_bits - 1);
    return static_cast<std::uint16_t>(sign | format.infinity() | payload);
  }
  // Zeros, and the subnormals of binary64, which are far below half the smallest number of either format.
  if (field == 0) return static_cast<std::uint16_t>(sign);

  int exponent = field - 1023 + format.bias();
  if (exponent >= format.last_exponent()) return static_cast<std::uint16_t>(sign | format.infinity());
  int shift = dropped;
  if (exponent < 1) {
    shift += 1 - exponent;
    exponent = 1;
  }
  // The significand is below 2^53, so from here on it is less than half of the last place.
  if (shift > 53) return static_cast<std::uint16_t>(sign);

  const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = significand & (2 * half - 1);
  std::uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The leading bit of a normal number adds one to the exponent field, and so does a carry: from the largest
  // subnormal to the smallest normal number, and from the largest number to infinity.
  return static_cast<std::uint16_t>(sign |
                                    ((static_cast<std::uint64_t>(exponent - 1) << format.fraction_bits) + rounded));
}

template <Format format>
double from_pattern(std::uint16_t pattern) {
  const std::uint64_t sign = static_cast<std::uint64_t>(pattern >> 15) << 63;
  const std::uint64_t fraction = pattern & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const int exponent = pattern >> format.fraction_bits & format.last_exponent();
  if (exponent == format.last_exponent()) {
    return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << 52 | fraction << (52 - format.fraction_bits));
  }
  const std::uint64_t significand = fraction | (static_cast<std::uint64_t>(exponent != 0) << format.fraction_bits);
  const int scale = std::max(exponent, 1) - format.bias() - format.fraction_bits;
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(scale + 1023) << 52);
  const double magnitude = static_cast<double>(significand) * power;
  return sign != 0 ? -magnitude : magnitude;
}

constexpr double two_to_63 = 9223372036854775808.0;

double round_to_integer(double x) {
  if (std::isnan(x)) return x;
  const double rounded = std::nearbyint(x);
  if (rounded >= two_to_63) return std::numeric_limits<double>::infinity();
  if (rounded < -two_to_63) return -std::numeric_limits<double>::infinity();
  return rounded;
}

double round_to_boolean(double x) {
  if (std::isnan(x)) return x;
  return x > 0.5 ? 1.0 : 0.0;
}

std::int64_t to_integer(double x) {
  const double rounded = round_to_integer(x);
  // llrint would return something unspecified, and the file would hold a plausible number.
  if (!std::isfinite(rounded)) throw std::range_error("a value is not finite or does not fit i64");
  return std::llrint(rounded);
}

std::uint8_t to_boolean(double x) {
  if (std::isnan(x)) throw std::range_error("NaN cannot be stored as bool");
  return x > 0.5 ? 1 : 0;
}

/// Elements may be unaligned: in a safetensors file they follow tensors of any size.
template <class T, class Convert>
void write_each(std::span<const double> values, std::byte* bytes, Convert convert) {
  for (const double value : values) {
    const T element = convert(value);
    std::memcpy(bytes, &element, sizeof(T));
    bytes += sizeof(T);
  }
}

template <class T, class Convert>
void read_each(const std::byte* bytes, std::span<double> values, Convert convert) {
  for (double& value : values) {
    T element;
    std::memcpy(&element, bytes, sizeof(T));
    bytes += sizeof(T);
    value = convert(element);
  }
}

}  // namespace

std::string_view name(DType dtype) {
  for (const auto& [candidate, text] : names) {
    if (candidate == dtype) return text;
  }
  unknown();
}

DType dtype_from(std::string_view name) {
  std::string known;
  for (const auto& [dtype, text] : names) {
    if (text == name) return dtype;
    if (!known.empty()) known += ", ";
    known += text;
  }
  throw std::invalid_argument("unknown dtype '" + std::string(name) + "'; allowed: " + known);
}

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::boolean: return 1;
  }
  unknown();
}

double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::f64: return x;
    case DType::f32: return static_cast<double>(static_cast<float>(x));
    case DType::bf16: return from_pattern<bf16>(to_pattern<bf16>(x));
    case DType::f16: return from_pattern<f16>(to_pattern<f16>(x));
    case DType::i64: return round_to_integer(x);
    case DType::boolean: return round_to_boolean(x);
  }
  unknown();
}

bool exact_in(DType dtype, double x) {
  if (dtype == DType::i64 || dtype == DType::boolean) return std::isfinite(x) && round_to(dtype, x) == x;
  return std::isnan(x) || round_to(dtype, x) == x;
}

void encode(DType dtype, std::span<const double> values, std::byte* bytes) {
  switch (dtype) {
    case DType::f64: return write_each<double>(values, bytes, [](double x) { return x; });
    case DType::f32: return write_each<float>(values, bytes, [](double x) { return static_cast<float>(x); });
    case DType::bf16: return write_each<std::uint16_t>(values, bytes, to_pattern<bf16>);
    case DType::f16: return write_each<std::uint16_t>(values, bytes, to_pattern<f16>);
    case DType::i64: return write_each<std::int64_t>(values, bytes, to_integer);
    case DType::boolean: return write_each<std::uint8_t>(values, bytes, to_boolean);
  }
  unknown();
}

void decode(DType dtype, const std::byte* bytes, std::span<double> values) {
  switch (dtype) {
    case DType::f64: return read_each<double>(bytes, values, [](double x) { return x; });
    case DType::f32: return read_each<float>(bytes, values, [](float x) { return static_cast<double>(x); });
    case DType::bf16: return read_each<std::uint16_t>(bytes, values, from_pattern<bf16>);
    case DType::f16: return read_each<std::uint16_t>(bytes, values, from_pattern<f16>);
    case DType::i64:
      return read_each<std::int64_t>(bytes, values, [](std::int64_t x) { return static_cast<double>(x); });
    case DType::boolean:
      return read_each<std::uint8_t>(bytes, values, [](std::uint8_t x) { return x != 0 ? 1.0 : 0.0; });
  }
  unknown();
}

}  // namespace attest
