// SPDX-License-Identifier: MIT
#include "attest/cuda/device.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace attest::cuda::emulation {

namespace {

/// significand * 2^(exponent - 23). Below the smallest exponent the significand is shorter; zero's exponent is below
/// all.
struct Number {
  std::int64_t significand;
  int exponent;
};
constexpr int float_fraction = 23, accumulator_min_exponent = -126, exponent_of_zero = -10000;

Number split(float x, int min_exponent) {
  const std::uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
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

/// Infinities and NaN go the way of real arithmetic; NaN has one pattern.
float special_sum(const float* a, const float* b, int depth, float c) {
  double sum = c;
  for (int k = 0; k < depth; ++k) sum += static_cast<double>(a[k]) * b[k];
  return std::isnan(sum) ? __uint_as_float(0x7fffffff) : static_cast<float>(sum);
}

/// The products are exact. They and c are cut, not rounded, to `fraction` bits after the point of the largest exponent,
/// added exactly, and the sum is cut to float. A product's exponent is the sum of its operands' (its significand may
/// reach 4).
float cut_sum(const Number* a, const Number* b, int depth, float c, int fraction) {
  constexpr int guard = 4;  // keeps every shift one to the right
  const Number start = split(c, accumulator_min_exponent);
  int top = std::max(start.exponent, accumulator_min_exponent);
  for (int k = 0; k < depth; ++k) top = std::max(top, a[k].exponent + b[k].exponent);
  std::int64_t sum = cut(start.significand << guard, float_fraction + guard - fraction + top - start.exponent);
  for (int k = 0; k < depth; ++k)
    sum +=
        cut(a[k].significand * b[k].significand, 2 * float_fraction - fraction + top - a[k].exponent - b[k].exponent);
  return toward_zero(static_cast<double>(sum) * power_of_two(top - fraction));
}

/// sm_90 adds all products at once, sm_80 one half after the other, with a bit less.
float sum_of(const Number* a, const Number* b, int depth, float c, TensorCore core) {
  if (core == TensorCore::sm_90) return cut_sum(a, b, depth, c, 25);
  const int half = depth / 2;
  const float first = cut_sum(a, b, half, c, 24);
  return std::isfinite(first) ? cut_sum(a + half, b + half, half, first, 24) : first;
}

constexpr int rows = 16, columns = 8, greatest_depth = 16;

/// The fragments of 32 lanes put together, multiplied, and handed back. The places are those of the PTX ISA.
template <int Depth>
struct Matrices {
  float a[rows][Depth], b[columns][Depth];
  float* c[rows][columns];

  explicit Matrices(const std::array<void*, warp_width>& lanes) {
    for (int lane = 0; lane < 32; ++lane) {
      const auto& mine = *static_cast<const Operands*>(lanes[static_cast<std::size_t>(lane)]);
      const int group = lane / 4, member = lane % 4;
      for (int i = 0; i < Depth / 2; ++i) {
        const int row = Depth == 16 ? i / 2 % 2 : i % 2;
        const int k = Depth == 16 ? i / 4 * 8 + member * 2 + i % 2 : i / 2 * 4 + member;
        a[group + row * 8][k] = mine.a[i];
      }
      for (int i = 0; i < Depth / 4; ++i)
        b[group][Depth == 16 ? i / 2 * 8 + member * 2 + i % 2 : i * 4 + member] = mine.b[i];
      for (int i = 0; i < 4; ++i) c[group + i / 2 * 8][member * 2 + i % 2] = mine.c + i;
    }
  }
};

bool all_finite(const float* x, int count) {
  return std::all_of(x, x + count, [](float v) { return std::isfinite(v); });
}

bool all_zero(const float* x, int count) {
  return std::all_of(x, x + count, [](float v) { return v == 0; });
}

/// c[i][j] += a_i . b_j
template <int Depth, int MinExponent>
void add_products(const float (&left)[rows][Depth], const float (&right)[columns][Depth],
                  float* const (&c)[rows][columns]) {
  const TensorCore core = settings().capability < 90 ? TensorCore::sm_80 : TensorCore::sm_90;
  Number a[rows][Depth], b[columns][Depth];
  bool finite_row[rows], finite_column[columns], zero_row[rows], zero_column[columns];
  for (int i = 0; i < rows; ++i) {
    finite_row[i] = all_finite(left[i], Depth);
    zero_row[i] = all_zero(left[i], Depth);
    for (int k = 0; k < Depth && finite_row[i]; ++k) a[i][k] = split(left[i][k], MinExponent);
  }
  for (int j = 0; j < columns; ++j) {
    finite_column[j] = all_finite(right[j], Depth);
    zero_column[j] = all_zero(right[j], Depth);
    for (int k = 0; k < Depth && finite_column[j]; ++k) b[j][k] = split(right[j][k], MinExponent);
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      float& sum = *c[i][j];
      if (!finite_row[i] || !finite_column[j] || !std::isfinite(sum))
        sum = special_sum(left[i], right[j], Depth, sum);
      else if (zero_row[i] || zero_column[j])
        sum += 0.0f;  // what follows has the same result: c itself, and +0 for -0
      else
        sum = sum_of(a[i], b[j], Depth, sum, core);
    }
  }
}

template <int Depth, int MinExponent>
void product(std::uint32_t, const std::array<void*, warp_width>& lanes) {
  const Matrices<Depth> m(lanes);
  add_products<Depth, MinExponent>(m.a, m.b, m.c);
}

}  // namespace

void multiply_add(Operands& mine, int depth, int min_exponent, Location where) {
  const auto apply = depth == 8 ? product<8, -126> : min_exponent == -14 ? product<16, -14> : product<16, -126>;
  Collective arrival{"multiply_add", 0xffffffffu, where, &mine, apply, false, true};
  block(where).collective(arrival);
}

void add_bf16_products(const float (&a)[rows][greatest_depth], const float (&b)[columns][greatest_depth],
                       float* const (&c)[rows][columns]) {
  add_products<greatest_depth, -126>(a, b, c);
}

float tensor_core_sum(const float* a, const float* b, int depth, int min_exponent, float c, TensorCore core) {
  if (!all_finite(a, depth) || !all_finite(b, depth) || !std::isfinite(c)) return special_sum(a, b, depth, c);
  Number left[greatest_depth], right[greatest_depth];
  for (int k = 0; k < depth; ++k) left[k] = split(a[k], min_exponent), right[k] = split(b[k], min_exponent);
  return sum_of(left, right, depth, c, core);
}

}  // namespace attest::cuda::emulation
