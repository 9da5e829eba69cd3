// SPDX-License-Identifier: MIT
#include "attest/cuda/device.hpp"

#include <cmath>

namespace attest::cuda::emulation {

namespace {

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
  TensorCoreNumber a[rows][Depth], b[columns][Depth];
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
        sum = tensor_core_sum(a[i], b[j], Depth, sum, core);
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

}  // namespace attest::cuda::emulation
