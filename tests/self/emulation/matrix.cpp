// SPDX-License-Identifier: MIT
// The sums of the tensor cores: bit for bit what optimized/cuda/emulation/README.md states, implemented here a second
// time, by long arithmetic instead of shifts; and the cases by which the literature found them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels.cuh"

namespace {

using namespace attest::cuda;
using emulation::tensor_core_sum;
using emulation::TensorCore;

int exponent_of(double x, int least) { return x == 0 ? least : std::max(std::ilogb(x), least); }

/// One group: all terms cut at 2^(top - fraction), summed exactly (long double has 64 bits), cut to float.
float group_sum(const std::vector<float>& a, const std::vector<float>& b, int first, int last, int least, float c,
                int fraction) {
  int top = exponent_of(c, -126);
  for (int k = first; k < last; ++k) {
    const float x = a[static_cast<std::size_t>(k)], y = b[static_cast<std::size_t>(k)];
    if (x != 0 && y != 0) top = std::max(top, exponent_of(x, least) + exponent_of(y, least));
  }
  const auto cut = [&](double x) { return std::trunc(std::ldexp(static_cast<long double>(x), fraction - top)); };
  long double sum = cut(c);
  for (int k = first; k < last; ++k)
    sum += cut(static_cast<double>(a[static_cast<std::size_t>(k)]) * b[static_cast<std::size_t>(k)]);
  sum = std::ldexp(sum, top - fraction);
  if (std::fabs(sum) >= 0x1p128L) return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(sum));
  const int unit = std::max(sum == 0 ? -126 : std::ilogb(sum), -126) - 23;
  return static_cast<float>(std::ldexp(std::trunc(std::ldexp(sum, -unit)), unit));
}

float stated(const std::vector<float>& a, const std::vector<float>& b, int least, float c, TensorCore core) {
  const int depth = static_cast<int>(a.size());
  if (core == TensorCore::sm_90) return group_sum(a, b, 0, depth, least, c, 25);
  return group_sum(a, b, depth / 2, depth, least, group_sum(a, b, 0, depth / 2, least, c, 24), 24);
}

struct Drawn {
  std::mt19937 engine{1};
  float operator()(int bits, int range,
                   int least) {  // `bits` of significand, exponents within +-range, some zeros and subnormals
    const auto draw = engine();
    if (draw % 16 == 0) return 0;
    const int exponent = std::max(static_cast<int>(engine() % static_cast<unsigned>(2 * range + 1)) - range, least);
    const double significand =
        std::ldexp(static_cast<double>(1u << (bits - 1) | (engine() & ((1u << (bits - 1)) - 1))), 1 - bits);
    const double value = draw % 16 == 1 ? std::ldexp(significand - 1, least) : std::ldexp(significand, exponent);
    return static_cast<float>(draw & 0x80000000u ? -value : value);
  }
};

void compare(int depth, int bits, int range, int least) {
  Drawn draw;
  int differ_from_fma = 0;
  for (const auto core : {TensorCore::sm_80, TensorCore::sm_90}) {
    for (int i = 0; i < 20000; ++i) {
      std::vector<float> a(static_cast<std::size_t>(depth)), b(a);
      for (auto& x : a) x = draw(bits, i % 2 ? range : 2, least);
      for (auto& x : b) x = draw(bits, i % 2 ? range : 2, least);
      const float c = draw(24, i % 2 ? std::min(2 * range, 126) : 4, -126);
      const float got = tensor_core_sum(a.data(), b.data(), depth, least, c, core);
      EXPECT_EQ(__float_as_uint(got), __float_as_uint(stated(a, b, least, c, core))) << i;
      float fma = c;
      for (int k = 0; k < depth; ++k)
        fma = std::fma(a[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(k)], fma);
      differ_from_fma += got != fma;
    }
  }
  EXPECT_GT(differ_from_fma, 10000);  // a plain loop of fma would fail here
}

TEST(TensorCore, Bf16) { compare(16, 8, 60, -126); }
TEST(TensorCore, Bf16OfExtremeSize) { compare(16, 8, 126, -126); }
TEST(TensorCore, F16) { compare(16, 11, 14, -14); }
TEST(TensorCore, Tf32) { compare(8, 11, 60, -126); }

float sum(std::vector<float> a, std::vector<float> b, float c, TensorCore core) {
  a.resize(16);
  b.resize(16);
  return tensor_core_sum(a.data(), b.data(), 16, -126, c, core);
}

TEST(TensorCore, Cuts) {
  // Toward zero, where rounding would go up.
  EXPECT_EQ(sum({1}, {0x1p-24f}, 1 + 0x1p-23f, TensorCore::sm_90), 1 + 0x1p-23f);
  EXPECT_EQ(sum({-1}, {0x1p-24f}, -1 - 0x1p-23f, TensorCore::sm_90), -1 - 0x1p-23f);
  // Bits after float's last: 1 + 4 * 2^-25 is 1 + 2^-23 where 25 bits are kept, 1 where 24 are.
  const std::vector<float> ones(4, 1.0f), small(4, 0x1p-25f);
  EXPECT_EQ(sum(ones, small, 1, TensorCore::sm_90), 1 + 0x1p-23f);
  EXPECT_EQ(sum(ones, small, 1, TensorCore::sm_80), 1);
  // A large term that cancels makes the small ones of its own group vanish, and no others.
  std::vector<float> a(16, 0.0f), b(16, 1.0f);
  a[0] = 0x1p30f;
  a[1] = -0x1p30f;
  a[8] = 1;
  EXPECT_EQ(sum(a, b, 0, TensorCore::sm_90), 0);
  EXPECT_EQ(sum(a, b, 0, TensorCore::sm_80), 1);
}

TEST(TensorCore, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sum({infinity, 1}, {2, 3}, 1, TensorCore::sm_90), infinity);
  EXPECT_EQ(sum({-infinity}, {2}, 1, TensorCore::sm_80), -infinity);
  EXPECT_EQ(__float_as_uint(sum({infinity}, {0}, 1, TensorCore::sm_90)), 0x7fffffffu);
  EXPECT_EQ(__float_as_uint(sum({infinity, 1}, {1, -infinity}, 1, TensorCore::sm_90)), 0x7fffffffu);
  EXPECT_EQ(__float_as_uint(sum({1}, {1}, nan, TensorCore::sm_90)), 0x7fffffffu);
  EXPECT_EQ(sum({0x1p100f}, {0x1p100f}, 1, TensorCore::sm_90), infinity);
  EXPECT_EQ(__float_as_uint(sum({-1}, {0}, -0.0f, TensorCore::sm_90)), 0u);
}

// ---- fragments: each loader against the matrices themselves, for products that are exact

template <class T, int Form>
__global__ void small_product(const float* a, const float* b, float* c) {
  constexpr int K = matrix_depth<T>;
  using Stored = std::conditional_t<sizeof(T) == 2, T, float>;
  __shared__ Shared<Stored, 16, K> left;
  __shared__ Shared<Stored, K, 16> left_transposed;
  __shared__ Shared<Stored, K, 8> right;
  __shared__ Shared<Stored, 8, K> right_transposed;
  for (int i = lane(); i < 16 * K; i += warpSize) {
    left(i / K, i % K) = from_float<Stored>(a[i]);
    left_transposed(i % K, i / K) = from_float<Stored>(a[i]);
  }
  for (int i = lane(); i < K * 8; i += warpSize) {
    right(i / 8, i % 8) = from_float<Stored>(b[i]);
    right_transposed(i % 8, i / 8) = from_float<Stored>(b[i]);
  }
  __syncthreads();
  Accumulator sum;
  for (int i = 0; i < sum.size; ++i) sum.values[i] = static_cast<float>(sum.row(i) * 8 + sum.column(i));
  multiply_add(sum, Form & 1 ? load_a_transposed<T>(left_transposed, 0, 0) : load_a<T>(left, 0, 0),
               Form & 2 ? load_b_transposed<T>(right_transposed, 0, 0) : load_b<T>(right, 0, 0));
  for (int i = 0; i < sum.size; ++i) c[sum.row(i) * 8 + sum.column(i)] = sum.values[i];
}

template <class T, int Form>
void check_fragments() {
  constexpr int K = matrix_depth<T>;
  std::mt19937 engine(7);
  std::vector<float> a(16 * K), b(K * 8), c(16 * 8);
  for (auto& x : a) x = static_cast<float>(engine() % 31) - 15;
  for (auto& x : b) x = static_cast<float>(engine() % 31) - 15;
  launch(small_product<T, Form>, 1, 32, 0, nullptr, a.data(), b.data(), c.data());
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      float expected = static_cast<float>(i * 8 + j);
      for (int k = 0; k < K; ++k)
        expected += a[static_cast<std::size_t>(i * K + k)] * b[static_cast<std::size_t>(k * 8 + j)];
      EXPECT_EQ(c[static_cast<std::size_t>(i * 8 + j)], expected) << i << " " << j;
    }
  }
}

TEST(Fragments, EveryLoaderOfEveryType) {
  check_fragments<__nv_bfloat16, 0>();
  check_fragments<__nv_bfloat16, 3>();
  check_fragments<__half, 1>();
  check_fragments<__half, 2>();
  check_fragments<Tf32, 0>();
  check_fragments<Tf32, 3>();
}

/// (a b) c by one warp: the first result becomes the second's left operand without leaving the registers.
__global__ void chained(float* out) {
  __shared__ Shared<__nv_bfloat16, 16, 16> ramp;
  for (int i = lane(); i < 256; i += warpSize)
    ramp(i / 16, i % 16) =
        from_float<__nv_bfloat16>(static_cast<float>(i / 16 == i % 16) + static_cast<float>(i / 16 + 1 == i % 16));
  __syncthreads();
  Accumulator left, right, sum;
  const auto a = load_a<__nv_bfloat16>(ramp, 0, 0);
  multiply_add(left, a, load_b<__nv_bfloat16>(ramp, 0, 0));
  multiply_add(right, a, load_b<__nv_bfloat16>(ramp, 0, 8));
  multiply_add(sum, operand_a<__nv_bfloat16>(left, right), load_b<__nv_bfloat16>(ramp, 0, 8));
  for (int i = 0; i < sum.size; ++i) out[sum.row(i) * 8 + sum.column(i)] = sum.values[i];
}
TEST(Fragments, AResultAsTheNextOperand) {
  // The ramp is 1 + shift; its cube has 1, 3, 3, 1 from the diagonal on.
  std::vector<float> out(128);
  launch(chained, 1, 32, 0, nullptr, out.data());
  const float binomial[] = {1, 3, 3, 1};
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      const int d = j + 8 - i;
      EXPECT_EQ(out[static_cast<std::size_t>(i * 8 + j)], d >= 0 && d < 4 ? binomial[d] : 0.0f) << i << " " << j;
    }
  }
}

// ---- products of a warpgroup, exact too

template <int Fragments, Major major, bool InRegisters>
void check_warpgroup(int depth) {
  constexpr int columns = 8 * Fragments;
  std::mt19937 engine(11);
  std::vector<int> a(static_cast<std::size_t>(64 * depth)), b(static_cast<std::size_t>(columns * depth));
  for (auto& x : a) x = static_cast<int>(engine() % 31) - 15;
  for (auto& x : b) x = static_cast<int>(engine() % 31) - 15;
  std::vector<__nv_bfloat16> low_a(a.size()), low_b(b.size());
  std::transform(a.begin(), a.end(), low_a.begin(),
                 [](int x) { return from_float<__nv_bfloat16>(static_cast<float>(x)); });
  std::transform(b.begin(), b.end(), low_b.begin(),
                 [](int x) { return from_float<__nv_bfloat16>(static_cast<float>(x)); });
  std::vector<float> c(64 * columns);
  launch(kernels::warpgroup_product<Fragments, major, InRegisters>, 1, 128,
         static_cast<std::size_t>((64 + columns) * depth * 2), nullptr, low_a.data(), low_b.data(), c.data(), depth);
  int wrong = 0;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < columns; ++j) {
      int expected = 0;
      for (int k = 0; k < depth; ++k)
        expected += a[static_cast<std::size_t>(i * depth + k)] *
                    b[static_cast<std::size_t>(major == Major::k ? j * depth + k : k * columns + j)];
      wrong += c[static_cast<std::size_t>(i * columns + j)] != static_cast<float>(expected);
    }
  }
  EXPECT_EQ(wrong, 0) << columns << " columns, depth " << depth;
}
template <int Fragments>
void check_warpgroup() {
  check_warpgroup<Fragments, Major::k, true>(48);
  check_warpgroup<Fragments, Major::k, false>(80);
  check_warpgroup<Fragments, Major::mn, true>(48);
  check_warpgroup<Fragments, Major::mn, false>(32);
}

TEST(Warpgroup, MultipliesTilesReadByRowsAndByColumns) {
  check_warpgroup<1>();
  check_warpgroup<2>();
  check_warpgroup<3>();
  check_warpgroup<8>();
  check_warpgroup<9>();
  check_warpgroup<16>();
  check_warpgroup<32>();
}

/// The descriptors bit for bit, by the tables of the PTX ISA for tiles without a swizzle.
__global__ void describe(std::uint64_t* out) {
  DynamicShared memory;
  memory.take<float>(16);
  const CoreTile<__nv_bfloat16> tile(memory, 24, 32);
  if (threadIdx.x == 0) {
    out[0] = by_rows(tile, 0, 0).bits;
    out[1] = by_rows(tile, 8, 16).bits;
    out[2] = by_columns(tile, 16, 8).bits;
    out[3] = by_rows(tile, 0, 0).from(8).deeper(16).bits;
  }
}
TEST(Warpgroup, Descriptors) {
  std::uint64_t bits[4];
  launch(describe, 1, 32, 64 + 24 * 32 * 2, nullptr, static_cast<std::uint64_t*>(bits));
  const auto stated = [](std::uint64_t start, std::uint64_t leading, std::uint64_t stride) {
    return start / 16 + (leading / 16 << 16) + (stride / 16 << 32);
  };
  EXPECT_EQ(bits[0], stated(64, 24 * 16, 128));
  EXPECT_EQ(bits[1], stated(64 + 2 * 24 * 16 + 8 * 16, 24 * 16, 128));
  EXPECT_EQ(bits[2], stated(64 + 1 * 24 * 16 + 16 * 16, 128, 24 * 16));
  EXPECT_EQ(bits[3], bits[1]);
}

}  // namespace
