// SPDX-License-Identifier: MIT
#include "attest/dtype.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace attest {
namespace {

struct Format {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Format, 6> kFormats{{{DType::f64, "f64", 8},
                                          {DType::f32, "f32", 4},
                                          {DType::bf16, "bf16", 2},
                                          {DType::f16, "f16", 2},
                                          {DType::i64, "i64", 8},
                                          {DType::boolean, "bool", 1}}};

const Format& format(DType dtype) {
  for (const auto& known : kFormats)
    if (known.dtype == dtype) return known;
  throw std::invalid_argument("unknown dtype");
}

/// A binary format of `bits` significant bits whose smallest normal number is 2^lowest and whose largest power is
/// 2^highest: one rounding straight from binary64, to nearest, ties to even.
struct Small {
  int bits, lowest, highest;
};
constexpr Small kBf16{8, -126, 127}, kF16{11, -14, 15};

double round_small(const Small& f, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int exponent = std::max(std::ilogb(x), f.lowest);
  const double ulp = std::ldexp(1.0, exponent - f.bits + 1);
  const double rounded = std::nearbyint(x / ulp) * ulp;  // both scalings are exact: ulp is a power of two
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, 1 - f.bits), f.highest);
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::copysign(rounded, x);
}

std::uint16_t bits_of(const Small& f, int exponent_bits, double x) {
  const int fraction_bits = f.bits - 1;
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const auto special = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | special | (1 << (fraction_bits - 1)));
  const double rounded = std::abs(round_small(f, x));
  if (std::isinf(rounded)) return static_cast<std::uint16_t>(sign | special);
  // In units of the smallest subnormal the pattern of a subnormal is its value; normals add their exponent.
  const int exponent = rounded == 0 ? f.lowest : std::max(std::ilogb(rounded), f.lowest);
  const auto units = static_cast<std::uint32_t>(std::ldexp(rounded, fraction_bits - exponent));
  const auto biased = static_cast<std::uint32_t>(exponent - f.lowest);
  return static_cast<std::uint16_t>(sign | ((biased << fraction_bits) + units));
}

double value_of(const Small& f, int exponent_bits, std::uint16_t pattern) {
  const int fraction_bits = f.bits - 1;
  const double sign = pattern & 0x8000 ? -1.0 : 1.0;
  const int exponent = (pattern >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = pattern & ((1 << fraction_bits) - 1);
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, f.lowest - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, f.lowest + exponent - 1 - fraction_bits);
}

template <class T>
void put(std::byte*& at, T value) {
  std::memcpy(at, &value, sizeof value);
  at += sizeof value;
}

template <class T>
T get(const std::byte*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

std::string_view name(DType dtype) { return format(dtype).name; }
std::size_t size_of(DType dtype) { return format(dtype).bytes; }

DType dtype_from(std::string_view wanted) {
  for (const auto& known : kFormats)
    if (known.name == wanted) return known.dtype;
  throw std::invalid_argument("unknown dtype '" + std::string(wanted) + "'; dtypes: f64, f32, bf16, f16, i64, bool");
}

double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::f64: return x;
    case DType::f32: return static_cast<double>(static_cast<float>(x));
    case DType::bf16: return round_small(kBf16, x);
    case DType::f16: return round_small(kF16, x);
    case DType::i64: return std::nearbyint(x);
    case DType::boolean: return x != 0 ? 1 : 0;
  }
  return x;
}

bool exact_in(DType dtype, double x) { return std::isnan(x) || round_to(dtype, x) == x; }

void encode(DType dtype, std::span<const double> values, std::byte* bytes) {
  for (const double x : values) {
    switch (dtype) {
      case DType::f64: put(bytes, x); break;
      case DType::f32: put(bytes, static_cast<float>(x)); break;
      case DType::bf16: put(bytes, bits_of(kBf16, 8, x)); break;
      case DType::f16: put(bytes, bits_of(kF16, 5, x)); break;
      case DType::i64: put(bytes, static_cast<std::int64_t>(std::llrint(x))); break;
      case DType::boolean: put(bytes, static_cast<std::uint8_t>(x != 0)); break;
    }
  }
}

void decode(DType dtype, const std::byte* bytes, std::span<double> values) {
  for (double& x : values) {
    switch (dtype) {
      case DType::f64: x = get<double>(bytes); break;
      case DType::f32: x = static_cast<double>(get<float>(bytes)); break;
      case DType::bf16: x = value_of(kBf16, 8, get<std::uint16_t>(bytes)); break;
      case DType::f16: x = value_of(kF16, 5, get<std::uint16_t>(bytes)); break;
      case DType::i64: x = static_cast<double>(get<std::int64_t>(bytes)); break;
      case DType::boolean: x = get<std::uint8_t>(bytes) != 0 ? 1 : 0; break;
    }
  }
}

}  // namespace attest
