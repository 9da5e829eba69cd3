// SPDX-License-Identifier: MIT
#include "attest/cuda/device.hpp"

#include <cmath>
#include <limits>

namespace attest::cuda::emulation {

namespace {

/// significand * 2^exponent with the point behind the significand's first of 24 bits (or fewer, below the smallest exponent).
struct Number {
  std::int64_t significand;
  int exponent;
};
constexpr int float_fraction = 23, accumulator_min_exponent = -126;

Number split(float x, int min_exponent) {
  if (x == 0) return {0, min_exponent};
  const int exponent = std::max(std::ilogb(x), min_exponent);
  return {static_cast<std::int64_t>(std::ldexp(x, float_fraction - exponent)), exponent};
}

/// Toward zero.
std::int64_t shifted(std::int64_t x, int left) {
  if (left >= 0) return x << left;
  if (left < -62) return 0;
  return x < 0 ? -(-x >> -left) : x >> -left;
}

float toward_zero(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::fabs(x) >= 0x1p128) return std::copysign(std::numeric_limits<float>::infinity(), nearest);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafter(nearest, 0.0f) : nearest;
}

/// Infinities and NaN go the way of real arithmetic; NaN has one pattern.
float special_sum(const float* a, const float* b, int depth, float c) {
  double sum = c;
  for (int k = 0; k < depth; ++k) sum += static_cast<double>(a[k]) * b[k];
  return std::isnan(sum) ? __uint_as_float(0x7fffffff) : static_cast<float>(sum);
}

/// The products are exact. They and c are cut, not rounded, to `fraction` bits behind the point of the largest exponent, added
/// exactly, and the sum is cut to float. A product's exponent is the sum of its operands' (its significand may reach 4).
float cut_sum(const Number* a, const Number* b, int depth, float c, int fraction) {
  const Number start = split(c, accumulator_min_exponent);
  int top = start.exponent;
  for (int k = 0; k < depth; ++k) {
    if (a[k].significand != 0 && b[k].significand != 0) top = std::max(top, a[k].exponent + b[k].exponent);
  }
  std::int64_t sum = shifted(start.significand, fraction - float_fraction + start.exponent - top);
  for (int k = 0; k < depth; ++k) {
    sum += shifted(a[k].significand * b[k].significand, fraction - 2 * float_fraction + a[k].exponent + b[k].exponent - top);
  }
  return toward_zero(std::ldexp(static_cast<double>(sum), top - fraction));
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
      for (int i = 0; i < Depth / 4; ++i) b[group][Depth == 16 ? i / 2 * 8 + member * 2 + i % 2 : i * 4 + member] = mine.b[i];
      for (int i = 0; i < 4; ++i) c[group + i / 2 * 8][member * 2 + i % 2] = mine.c + i;
    }
  }
};

bool all_finite(const float* x, int count) {
  return std::all_of(x, x + count, [](float v) { return std::isfinite(v); });
}

template <int Depth, int MinExponent>
void product(std::uint32_t, const std::array<void*, warp_width>& lanes) {
  const Matrices<Depth> m(lanes);
  const TensorCore core = settings().tensor_core;
  Number a[rows][Depth], b[columns][Depth];
  bool finite_row[rows], finite_column[columns];
  for (int i = 0; i < rows; ++i) {
    finite_row[i] = all_finite(m.a[i], Depth);
    for (int k = 0; k < Depth && finite_row[i]; ++k) a[i][k] = split(m.a[i][k], MinExponent);
  }
  for (int j = 0; j < columns; ++j) {
    finite_column[j] = all_finite(m.b[j], Depth);
    for (int k = 0; k < Depth && finite_column[j]; ++k) b[j][k] = split(m.b[j][k], MinExponent);
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      float& c = *m.c[i][j];
      c = finite_row[i] && finite_column[j] && std::isfinite(c) ? sum_of(a[i], b[j], Depth, c, core) : special_sum(m.a[i], m.b[j], Depth, c);
    }
  }
}

}  // namespace

void multiply_add(Operands& mine, int depth, int min_exponent, Location where) {
  const auto apply = depth == 8 ? product<8, -126> : min_exponent == -14 ? product<16, -14> : product<16, -126>;
  Collective arrival{"multiply_add", 0xffffffffu, where, &mine, apply, false, true};
  block(where).collective(arrival);
}

float tensor_core_sum(const float* a, const float* b, int depth, int min_exponent, float c, TensorCore core) {
  if (!all_finite(a, depth) || !all_finite(b, depth) || !std::isfinite(c)) return special_sum(a, b, depth, c);
  Number left[greatest_depth], right[greatest_depth];
  for (int k = 0; k < depth; ++k) left[k] = split(a[k], min_exponent), right[k] = split(b[k], min_exponent);
  return sum_of(left, right, depth, c, core);
}

}  // namespace attest::cuda::emulation
