// SPDX-License-Identifier: MIT
#include "attest/cuda/tensor_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace attest::cuda::emulation {

namespace {

constexpr int float_fraction = 23, accumulator_min_exponent = -126, exponent_of_zero = -10000;

/// x / 2^places toward zero.
std::int64_t cut(std::int64_t x, int places) {
  places = std::min(places, 62);
  return (x + (x >> 63 & ((std::int64_t{1} << places) - 1))) >> places;
}

float toward_zero(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::fabs(x) >= 0x1p128) return std::copysign(std::numeric_limits<float>::infinity(), nearest);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}

double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52); }

/// The products are exact. They and c are cut, not rounded, to `fraction` bits after the point of the largest exponent,
/// added exactly, and the sum is cut to float. A product's exponent is the sum of its operands' (its significand may
/// reach 4).
float cut_sum(const TensorCoreNumber* a, const TensorCoreNumber* b, int depth, float c, int fraction) {
  constexpr int guard = 4;  // keeps every shift one to the right
  const TensorCoreNumber start = split(c, accumulator_min_exponent);
  int top = std::max(start.exponent, accumulator_min_exponent);
  for (int k = 0; k < depth; ++k) top = std::max(top, a[k].exponent + b[k].exponent);
  std::int64_t sum = cut(start.significand << guard, float_fraction + guard - fraction + top - start.exponent);
  for (int k = 0; k < depth; ++k)
    sum +=
        cut(a[k].significand * b[k].significand, 2 * float_fraction - fraction + top - a[k].exponent - b[k].exponent);
  return toward_zero(static_cast<double>(sum) * power_of_two(top - fraction));
}

}  // namespace

TensorCoreNumber split(float x, int min_exponent) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  if (magnitude == 0) return {0, exponent_of_zero};
  std::int64_t significand = magnitude & 0x7fffffu;
  int exponent = static_cast<int>(magnitude >> float_fraction) - 127;
  if (exponent < accumulator_min_exponent) {
    exponent = accumulator_min_exponent;
  } else {
    significand |= 1 << float_fraction;
  }
  if (exponent < min_exponent) {  // f16: exact, such a number has few bits
    significand >>= min_exponent - exponent;
    exponent = min_exponent;
  }
  return {bits >> 31 ? -significand : significand, exponent};
}

float special_sum(const float* a, const float* b, int depth, float c) {
  double sum = c;
  for (int k = 0; k < depth; ++k) sum += static_cast<double>(a[k]) * b[k];
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(sum);
}

/// sm_90 adds all products at once, sm_80 one half after the other, with a bit less.
float tensor_core_sum(const TensorCoreNumber* a, const TensorCoreNumber* b, int depth, float c, TensorCore core) {
  if (core == TensorCore::sm_90) return cut_sum(a, b, depth, c, 25);
  const int half = depth / 2;
  const float first = cut_sum(a, b, half, c, 24);
  return std::isfinite(first) ? cut_sum(a + half, b + half, half, first, 24) : first;
}

float tensor_core_sum(const float* a, const float* b, int depth, int min_exponent, float c, TensorCore core) {
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(a, a + depth, finite) || !std::all_of(b, b + depth, finite) || !finite(c))
    return special_sum(a, b, depth, c);
  std::vector<TensorCoreNumber> left, right;
  for (int k = 0; k < depth; ++k) {
    left.push_back(split(a[k], min_exponent));
    right.push_back(split(b[k], min_exponent));
  }
  return tensor_core_sum(left.data(), right.data(), depth, c, core);
}

}  // namespace attest::cuda::emulation
